// What every thread of this process tells the others of: whether it is inside a section that it
// shares with other processes. A plain store of the thread's own on the way in and on the way out;
// who wants to know that nobody is inside has the work (CriticalSectionScan).
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
  // Before the store that opens the section, which has to release, and after the one that closes
  // it.
  void Enter() noexcept { Store(word_.load(std::memory_order_relaxed) + kEntry + 1); }
  void Leave() noexcept { Store(word_.load(std::memory_order_relaxed) - 1); }

  uint64_t word() const noexcept { return word_.load(std::memory_order_acquire); }
  static bool IsInside(uint64_t word) { return word % kEntry != 0; }

 private:
  static constexpr uint64_t kEntry = 1 << 16;

  void Store(uint64_t word) noexcept { word_.store(word, std::memory_order_release); }

  std::atomic<uint64_t> word_{0};
};

// This thread's own, from its first call to its end.
CriticalSectionMark& MarkOfThisThread();

// A look at the marks of all threads of this process. While there is one, no thread gets its first
// mark and there is no second look, so that what it finds out is true until it acts.
class CriticalSectionScan {
 public:
  CriticalSectionScan();
  ~CriticalSectionScan();
  CriticalSectionScan(const CriticalSectionScan&) = delete;
  CriticalSectionScan& operator=(const CriticalSectionScan&) = delete;

  bool IsNobodyInside() {
    words_ = ReadAll();
    return std::none_of(words_.begin(), words_.end(), &CriticalSectionMark::IsInside);
  }
  // Whether nobody has entered since then, either.
  bool HasNobodyEntered() const { return ReadAll() == words_; }

 private:
  static std::vector<uint64_t> ReadAll();  // in the order in which the threads came

  std::vector<uint64_t> words_;
};

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_CRITICAL_SECTION_MARK_H_
