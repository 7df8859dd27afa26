// A value in shared memory that other processes read and write at the same time.
//
// Every access is one machine load or store of the whole value. The compiler may neither repeat a
// load (a checked index would be read again after the check) nor split a store. The shard lock
// orders accesses; `Publish` and `Acquire` are for the few words that are read without it.
#ifndef HOLDFAST_SEGMENT_SHARED_H_
#define HOLDFAST_SEGMENT_SHARED_H_

#include <atomic>
#include <type_traits>

namespace holdfast::segment {

// The points at which a process can die or be overtaken: after every store to the segment and after
// every load from it.
//
// The checked build of the core (HOLDFAST_STORE_POINTS) calls hooks there. Tests use the hooks to
// take an image of the segment after every store, or to run other simulated processes. In other
// builds the calls are empty.
#ifdef HOLDFAST_STORE_POINTS
using StoreHook = void (*)(void* context);
struct StoreObserver {
  StoreHook hook = nullptr;
  void* context = nullptr;
  StoreHook load_hook = nullptr;
};
inline thread_local StoreObserver store_observer;
inline void StorePoint() noexcept {
  if (store_observer.hook != nullptr) store_observer.hook(store_observer.context);
}
inline void LoadPoint() noexcept {
  if (store_observer.load_hook != nullptr) store_observer.load_hook(store_observer.context);
}
#else
inline void StorePoint() noexcept {}
inline void LoadPoint() noexcept {}
#endif

template <typename T>
class Shared {
 public:
  static_assert(std::is_trivially_copyable_v<T> && std::atomic<T>::is_always_lock_free);

  T Get() const noexcept { return Loaded(value_.load(std::memory_order_relaxed)); }
  T Acquire() const noexcept { return Loaded(value_.load(std::memory_order_acquire)); }
  void Set(T value) noexcept {
    value_.store(value, std::memory_order_relaxed);
    StorePoint();
  }
  // The commit point of a step: everything stored before is visible to a thread that acquires this
  // value.
  void Publish(T value) noexcept {
    value_.store(value, std::memory_order_release);
    StorePoint();
  }
  T Exchange(T value) noexcept {
    const T old = value_.exchange(value, std::memory_order_seq_cst);
    StorePoint();
    return old;
  }
  bool CompareExchange(T& expected, T desired) noexcept {
    const bool done = value_.compare_exchange_strong(expected, desired, std::memory_order_seq_cst);
    StorePoint();
    return done;
  }
  T FetchAdd(T amount) noexcept {
    const T old = value_.fetch_add(amount, std::memory_order_relaxed);
    StorePoint();
    return old;
  }
  // Reads by writing the same value back: a thread that changes the value afterwards also sees
  // every store before this call. A plain load, even a sequentially consistent one, does not
  // guarantee this.
  T LoadRmw() noexcept { return Loaded(value_.fetch_add(0, std::memory_order_seq_cst)); }
  T LoadSeqCst() const noexcept { return Loaded(value_.load(std::memory_order_seq_cst)); }
  std::atomic<T>* atomic() noexcept { return &value_; }

 private:
  static T Loaded(T value) noexcept {
    LoadPoint();
    return value;
  }

  std::atomic<T> value_;
};

}  // namespace holdfast::segment

#endif  // HOLDFAST_SEGMENT_SHARED_H_
