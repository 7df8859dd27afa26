// A value in shared memory that other processes read and write at the same time.
//
// Every access is one machine load or store of the whole value: the compiler may neither repeat a
// load (a checked index would be read again after the check) nor split a store. The shard lock
// orders accesses; `Publish` and `Acquire` are for the few words that are read without it.
#ifndef HOLDFAST_SEGMENT_SHARED_H_
#define HOLDFAST_SEGMENT_SHARED_H_

#include <atomic>
#include <type_traits>

#include "segment/store_point.h"

namespace holdfast::segment {

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
