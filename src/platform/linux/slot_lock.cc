#include "platform/slot_lock.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <utility>

#include "platform/linux/byte_lock.h"
#include "platform/posix/os_error.h"
#include "platform/posix/private_file.h"

namespace holdfast {
inline namespace platform {
namespace {

// Above what most processes have open, below the usual limit of 1024.
constexpr int kHighDescriptor = 1000;

// The same description under a higher number; with a limit lower than that, as it was.
UniqueFd MovedUp(UniqueFd fd) {
  UniqueFd high(fcntl(fd.get(), F_DUPFD_CLOEXEC, kHighDescriptor));
  return high ? std::move(high) : std::move(fd);
}

}  // namespace

Result<SlotLock> SlotLock::Open(const BucketDirectory& directory, const char* name) {
  Result<PrivateFile> file = OpenPrivateFile(directory.fd(), name);
  if (!file.ok()) return file.status();
  return SlotLock(MovedUp(std::move(file->fd)));
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
