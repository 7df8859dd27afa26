#include "platform/file_lock.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>

#include "platform/os_error.h"
#include "platform/process_identity.h"

namespace holdfast {
inline namespace platform {

namespace {

// l_pid has to be 0: the kernel insists.
struct flock ByteRange(short type, uint64_t offset) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = static_cast<off_t>(offset);
  range.l_len = 1;
  return range;
}

// A sandbox (seccomp) or a system without these locks: EINVAL, ENOSYS, EPERM.
constexpr const char* kCannotLock =
    "the system refuses locks on bytes of a file (fcntl F_OFD_SETLK), which show that this process "
    "lives; allow the call in the sandbox, or use a broker ('broker:')";
constexpr const char* kCannotQuery =
    "the system refuses to show locks on bytes of a file (fcntl F_OFD_GETLK), which tell the "
    "living "
    "from the dead; allow the call in the sandbox, or use a broker ('broker:')";

struct flock WholeRange() {
  struct flock range = ByteRange(F_WRLCK, 0);
  range.l_len = 0;  // as far as a file can reach
  return range;
}

}  // namespace

Result<bool> TryLockByte(int fd, uint64_t offset) {
  const struct flock range = ByteRange(F_WRLCK, offset);
  if (RetryOnEintr([&] { return fcntl(fd, F_OFD_SETLK, &range); }) == 0) return true;
  if (errno == EAGAIN) return false;
  return OsError(kCannotLock);
}

Result<bool> IsByteLockedByOther(int fd, uint64_t offset) {
  struct flock range = ByteRange(F_WRLCK, offset);
  if (RetryOnEintr([&] { return fcntl(fd, F_OFD_GETLK, &range); }) == 0) {
    return range.l_type != F_UNLCK;
  }
  return OsError(kCannotQuery);
}

void UnlockByte(int fd, uint64_t offset) {
  const struct flock range = ByteRange(F_UNLCK, offset);
  RetryOnEintr([&] { return fcntl(fd, F_OFD_SETLK, &range); });
}

Result<WholeLock> TryLockWhole(int fd) {
  struct flock range = WholeRange();
  if (RetryOnEintr([&] { return fcntl(fd, F_OFD_SETLK, &range); }) == 0) return WholeLock::kTaken;
  if (errno != EAGAIN) return OsError(kCannotLock);
  if (RetryOnEintr([&] { return fcntl(fd, F_OFD_GETLK, &range); }) != 0) {
    return OsError(kCannotQuery);
  }
  // F_UNLCK: no byte is locked now. The process that had locked the whole file has just closed it.
  const bool is_whole = range.l_type == F_UNLCK || (range.l_start == 0 && range.l_len == 0);
  return is_whole ? WholeLock::kWhole : WholeLock::kPart;
}

namespace {

constexpr size_t kPageBytes = 4096;

}  // namespace

// A mapping keeps the description open, as a descriptor does. The page has no access rights.
Result<DescriptionPin> DescriptionPin::Keep(int fd) {
  void* const page = mmap(nullptr, kPageBytes, PROT_NONE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) return OsError("cannot map the segment file");
  DescriptionPin pin(page, ProcessId());
  // A forked child must not keep its dead parent's locks.
  if (madvise(page, kPageBytes, MADV_DONTFORK) == -1) {
    return OsError("cannot keep a mapping from forked children");
  }
  return pin;
}

// In a forked child this address may be another mapping.
DescriptionPin::~DescriptionPin() {
  if (page_ != nullptr && owner_process_ == ProcessId()) munmap(page_, kPageBytes);
}

}  // namespace platform
}  // namespace holdfast
