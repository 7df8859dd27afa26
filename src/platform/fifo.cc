#include "platform/fifo.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#include "platform/os_error.h"
#include "platform/suppressed_signal.h"

namespace holdfast {
inline namespace platform {

Result<UniqueFd> OpenFifo(int directory, const char* name, int access) {
  UniqueFd fd(RetryOnEintr([&] {
    return openat(directory, name, access | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
  }));
  if (!fd && (errno == ENOENT || errno == ENXIO)) {
    return Status(StatusCode::kClosed, "the owner of the doorbell has gone", errno);
  }
  if (!fd && (errno == ELOOP || errno == EISDIR)) {
    return Status(StatusCode::kNoAccess, "what has the name of a doorbell is none; remove it",
                  errno);
  }
  if (!fd) return OsError("cannot open a doorbell");
  struct stat found {};
  if (fstat(fd.get(), &found) == -1) return OsError("cannot examine a doorbell");
  if (!S_ISFIFO(found.st_mode) || found.st_uid != geteuid()) {
    return Status(StatusCode::kNoAccess, "what has the name of a doorbell is none; remove it");
  }
  return fd;
}

namespace {

constexpr long kNoSignal = 0x100;  // RWF_NOSIGNAL, since Linux 6.18

// Not by the C library: some have no such function.
ssize_t WriteWithFlag(int fd, char byte) {
  constexpr long kOnePiece = 1;
  constexpr long kNoOffset = -1;
  const iovec piece{.iov_base = &byte, .iov_len = 1};
  return syscall(SYS_pwritev2, long{fd}, &piece, kOnePiece, kNoOffset, kNoOffset, kNoSignal);
}

// Everything else is taken for the answer of a system without the flag, or without the call.
bool IsOfAFifo(int error) {
  return error == EAGAIN || error == EPIPE || error == EINTR || error == EBADF;
}

ssize_t WriteWithMask(int fd, char byte) {
  const SuppressedSignal no_signal(SIGPIPE);
  const ssize_t written = write(fd, &byte, 1);
  if (written == -1 && errno == EPIPE) {
    no_signal.Consume();
    errno = EPIPE;
  }
  return written;
}

}  // namespace

// The mask is two system calls more.
ssize_t WriteByteQuietly(int fd, char byte) {
  static std::atomic<bool> knows_flag{true};
  if (knows_flag.load(std::memory_order_relaxed)) {
    const ssize_t written = WriteWithFlag(fd, byte);
    if (written != -1 || IsOfAFifo(errno)) return written;
    knows_flag.store(false, std::memory_order_relaxed);
  }
  return WriteWithMask(fd, byte);
}

}  // namespace platform
}  // namespace holdfast
