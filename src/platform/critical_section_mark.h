// Each thread of this process publishes whether it is inside a critical section that it shares with
// other processes. Entering and leaving cost one plain store to the thread's own word; the reader
// does the work (CriticalSectionScan).
#ifndef HOLDFAST_PLATFORM_CRITICAL_SECTION_MARK_H_
#define HOLDFAST_PLATFORM_CRITICAL_SECTION_MARK_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

namespace holdfast {
inline namespace platform {

//   63 .. 16  how often it has entered
//   15 ..  0  in how many sections it is now
class CriticalSectionMark {
 public:
  // To be called before the store that opens the section, which must be a release, and after the
  // store that closes it.
  void Enter() noexcept { Store(word_.load(std::memory_order_relaxed) + kEntry + 1); }
  void Leave() noexcept { Store(word_.load(std::memory_order_relaxed) - 1); }

  uint64_t word() const noexcept { return word_.load(std::memory_order_acquire); }
  static bool IsInside(uint64_t word) { return word % kEntry != 0; }

 private:
  static constexpr uint64_t kEntry = 1 << 16;

  void Store(uint64_t word) noexcept { word_.store(word, std::memory_order_release); }

  std::atomic<uint64_t> word_{0};
};

// The mark of this thread. It lives from the first call to the end of the thread.
CriticalSectionMark& MarkOfThisThread();

// A scan of the marks of all threads of this process. While it lives, no thread gets its first mark
// and no other scan begins, so that its result stays true until it acts.
class CriticalSectionScan {
 public:
  CriticalSectionScan();
  ~CriticalSectionScan();
  CriticalSectionScan(const CriticalSectionScan&) = delete;
  CriticalSectionScan& operator=(const CriticalSectionScan&) = delete;

  bool IsNoThreadInside() {
    words_ = ReadAll();
    return std::none_of(words_.begin(), words_.end(), &CriticalSectionMark::IsInside);
  }
  // Whether no thread has entered since the scan, either.
  bool HasNoThreadEntered() const { return ReadAll() == words_; }

 private:
  static std::vector<uint64_t> ReadAll();  // in one order

  std::vector<uint64_t> words_;
};

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_CRITICAL_SECTION_MARK_H_
