// Locks on single bytes of a file, owned by an open file description (F_OFD_*).
#ifndef HOLDFAST_PLATFORM_LINUX_BYTE_LOCK_H_
#define HOLDFAST_PLATFORM_LINUX_BYTE_LOCK_H_

#include <cstdint>

#include "platform/result.h"

namespace holdfast {
inline namespace platform {

// False: another description has it. `fd` is open for writing; the byte may be behind the end.
Result<bool> TryLockByte(int fd, uint64_t offset);
// Whether another description than that of `fd` has it.
Result<bool> IsByteLockedByOther(int fd, uint64_t offset);
void UnlockByte(int fd, uint64_t offset);

// kTaken: this description has all bytes of the file, also those behind its end, until it is
// closed. kPart: another one has some. kWhole: another one has all.
enum class WholeLock : uint8_t { kTaken, kPart, kWhole };
Result<WholeLock> TryLockWhole(int fd);

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_LINUX_BYTE_LOCK_H_
