#include "platform/slot_lock.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
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
  const FileId id = FileIdOf(file->fd.get());
  return SlotLock(std::move(file->fd), id);
}

void SlotLock::MoveAbove(int fd) {
  UniqueFd high(fcntl(fd_.get(), F_DUPFD_CLOEXEC, std::max(fd + 1, kHighDescriptor)));
  if (high) fd_ = std::move(high);
}

Result<bool> SlotLock::Matches(const SegmentFile& file) const {
  return file.id() == id_ && FileIdOf(fd_.get()) == id_;
}

Result<bool> SlotLock::TryClaim(uint32_t slot) const {
  return TryLockByte(fd_.get(), kSlotLockBase + slot);
}

Result<bool> SlotLock::IsClaimed(uint32_t slot) const {
  return IsByteLockedByOther(fd_.get(), kSlotLockBase + slot);
}

void SlotLock::Unclaim(uint32_t slot) const { UnlockByte(fd_.get(), kSlotLockBase + slot); }

Status SlotLock::Keep() {
  Result<FileKeeper> keeper = FileKeeper::Keep(fd_.get());
  if (!keeper.ok()) return keeper.status();
  keeper_.emplace(*std::move(keeper));
  return Status();
}

// Another description of the same file sees the claim as somebody else's. Where the system does not
// answer, nothing is known to be wrong: the descriptor is still this object's, and to be closed.
bool SlotLock::IsIntact(uint32_t slot) const {
  const FileId found = FileIdOf(fd_.get());
  if (found == FileId{}) return errno != EBADF;
  if (found != id_) return false;
  const Result<bool> is_of_another = IsClaimed(slot);
  return !is_of_another.ok() || !*is_of_another;
}

}  // namespace platform
}  // namespace holdfast
