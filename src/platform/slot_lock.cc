#include "platform/slot_lock.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "platform/access.h"
#include "platform/file_lock.h"
#include "platform/os_error.h"

namespace holdfast {
inline namespace platform {

namespace {

// Above the descriptors of most processes, but below 64. For a larger table the kernel waits for
// all CPUs, 10 ms and more in a process with threads.
constexpr int kHighDescriptor = 48;

}  // namespace

Result<SlotLock> SlotLock::Open(const BucketDirectory& directory, const char* name) {
  Result<OpenedFile> file = OpenFile(directory.fd(), name, directory.access());
  if (!file.ok()) return file.status();
  return SlotLock(std::move(file->fd));
}

void SlotLock::MoveAbove(int fd) {
  UniqueFd high(fcntl(fd_.get(), F_DUPFD_CLOEXEC, std::max(fd + 1, kHighDescriptor)));
  if (high) fd_ = KnownFd(std::move(high), fd_.id());
}

Result<bool> SlotLock::Matches(const SegmentFile& file) const {
  return file.id() == fd_.id() && FileIdOf(fd_.get()) == fd_.id();
}

Result<bool> SlotLock::TryClaim(uint32_t slot) const {
  return TryLockByte(fd_.get(), kSlotLockBase + slot);
}

Result<bool> SlotLock::IsClaimed(uint32_t slot) const {
  return IsByteLockedByOther(fd_.get(), kSlotLockBase + slot);
}

void SlotLock::Unclaim(uint32_t slot) const { UnlockByte(fd_.get(), kSlotLockBase + slot); }

Status SlotLock::Keep() {
  Result<DescriptionPin> pin = DescriptionPin::Keep(fd_.get());
  if (!pin.ok()) return pin.status();
  pin_.emplace(*std::move(pin));
  return Status();
}

// Another description of the same file would see the claim as foreign. If the system does not
// answer, no fault is known: the descriptor still belongs to this object, which closes it.
bool SlotLock::IsIntact(uint32_t slot) const {
  const FileId found = FileIdOf(fd_.get());
  if (found == FileId{}) return errno != EBADF;
  if (found != fd_.id()) return false;
  const Result<bool> is_of_another = IsClaimed(slot);
  return !is_of_another.ok() || !*is_of_another;
}

}  // namespace platform
}  // namespace holdfast
