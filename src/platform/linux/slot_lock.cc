#include "platform/slot_lock.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>

#include "platform/linux/byte_lock.h"
#include "platform/posix/os_error.h"
#include "platform/posix/private_file.h"

namespace holdfast {
inline namespace platform {
namespace {

// Above what most processes have open, and among the 64 for which a process has room from its
// start: to make more room the kernel waits for all processors, 10 ms and more where a process has
// threads.
constexpr int kHighDescriptor = 48;

}  // namespace

Result<SlotLock> SlotLock::Open(const BucketDirectory& directory, const char* name) {
  Result<PrivateFile> file = OpenPrivateFile(directory.fd(), name);
  if (!file.ok()) return file.status();
  return SlotLock(std::move(file->fd));
}

void SlotLock::MoveAbove(int fd) {
  UniqueFd high(fcntl(fd_.get(), F_DUPFD_CLOEXEC, std::max(fd + 1, kHighDescriptor)));
  if (high) fd_ = std::move(high);
}

Result<bool> SlotLock::Matches(const SegmentFile& file) const {
  struct stat ours {};
  struct stat mapped {};
  if (fstat(fd_.get(), &ours) == -1 || fstat(file.fd(), &mapped) == -1) {
    return OsError("cannot examine the segment file");
  }
  return ours.st_dev == mapped.st_dev && ours.st_ino == mapped.st_ino;
}

Result<bool> SlotLock::TryClaim(uint32_t slot) const {
  return TryLockByte(fd_.get(), kSlotLockBase + slot);
}

Result<bool> SlotLock::IsClaimed(uint32_t slot) const {
  return IsByteLockedByOther(fd_.get(), kSlotLockBase + slot);
}

void SlotLock::Unclaim(uint32_t slot) const { UnlockByte(fd_.get(), kSlotLockBase + slot); }

}  // namespace platform
}  // namespace holdfast
