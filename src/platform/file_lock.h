// Locks on single bytes of a file, owned by an open file description (F_OFD_*).
#ifndef HOLDFAST_PLATFORM_FILE_LOCK_H_
#define HOLDFAST_PLATFORM_FILE_LOCK_H_

#include <cstdint>
#include <utility>

#include "platform/result.h"

namespace holdfast {
inline namespace platform {

// False: another description has it. `fd` is open for writing; the byte may be behind the end.
Result<bool> TryLockByte(int fd, uint64_t offset);
// Whether a description other than the description of `fd` has it.
Result<bool> IsByteLockedByOther(int fd, uint64_t offset);
void UnlockByte(int fd, uint64_t offset);

// kTaken: this description has all bytes of the file, also those behind its end, until it is
// closed. kPart: another one has some. kWhole: another one has all.
enum class WholeLock : uint8_t { kTaken, kPart, kWhole };
Result<WholeLock> TryLockWhole(int fd);

// Keeps an open file description open without a descriptor, so that its locks outlive a stray
// close() or closefrom(). Ends with the process, and is not inherited by a forked child.
class DescriptionPin {
 public:
  // Keeps the description behind `fd`, a regular file open for reading.
  static Result<DescriptionPin> Keep(int fd);
  DescriptionPin(DescriptionPin&& other) noexcept
      : page_(std::exchange(other.page_, nullptr)), owner_process_(other.owner_process_) {}
  DescriptionPin& operator=(DescriptionPin&&) = delete;
  DescriptionPin(const DescriptionPin&) = delete;
  DescriptionPin& operator=(const DescriptionPin&) = delete;
  ~DescriptionPin();

 private:
  DescriptionPin(void* page, uint32_t owner_process) : page_(page), owner_process_(owner_process) {}

  void* page_;
  uint32_t owner_process_;
};

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_FILE_LOCK_H_
