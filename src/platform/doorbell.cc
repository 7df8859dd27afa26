#include "platform/doorbell.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <utility>

#include "platform/access.h"
#include "platform/clock.h"
#include "platform/os_error.h"
#include "platform/process_identity.h"
#include "platform/suppressed_signal.h"

namespace holdfast {
inline namespace platform {

Result<UniqueFd> OpenFifo(int directory, const char* name, int flags, const Access& access) {
  UniqueFd fd(RetryOnEintr([&] {
    return openat(directory, name, flags | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
  }));
  if (!fd && (errno == ENOENT || errno == ENXIO)) {
    return Status(StatusCode::kClosed, "the owner of the doorbell has gone", errno);
  }
  if (!fd && (errno == ELOOP || errno == EISDIR)) {
    return Status(StatusCode::kNoAccess,
                  "a file with the name of a doorbell is no doorbell; remove it", errno);
  }
  if (!fd) return OsError("cannot open a doorbell");
  struct stat found {};
  if (fstat(fd.get(), &found) == -1) return OsError("cannot examine a doorbell");
  if (!S_ISFIFO(found.st_mode) || found.st_nlink > 1 ||
      !access.HasOwner(found.st_uid, found.st_gid)) {
    return Status(StatusCode::kNoAccess,
                  "a file with the name of a doorbell is no doorbell; remove it");
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

namespace {

constexpr int kFifoBytes = 4096;
constexpr int kMaxReads = 16;  // the capacity if it could not be changed

// Creates the FIFO; replaces a FIFO that a dead owner left behind.
Status MakeFifo(int directory, const char* name, const Access& access) {
  const mode_t mode = access.file_mode();
  if (mkfifoat(directory, name, mode) == 0) return {};
  if (errno == EEXIST) {
    const Result<UniqueFd> found = OpenFifo(directory, name, O_WRONLY, access);
    if (found.ok()) return {StatusCode::kBusy, "the name of this doorbell is in use", EEXIST};
    if (found.status().code() != StatusCode::kClosed) return found.status();
    unlinkat(directory, name, 0);
    if (mkfifoat(directory, name, mode) == 0) return {};
  }
  return OsError("cannot create a doorbell in the bucket directory");
}

// Whether `name` is still the open file, and not a replacement.
bool IsNameOf(int directory, const char* name, int fd) {
  struct stat named {};
  struct stat open {};
  return fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &open) == 0 &&
         named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

}  // namespace

Result<Doorbell> Doorbell::Create(const BucketDirectory& directory, std::string name) {
  if (!IsFileName(name)) {
    return Status(StatusCode::kInvalidArgument, "the name of a doorbell is not a file name");
  }
  UniqueFd own_directory(fcntl(directory.fd(), F_DUPFD_CLOEXEC, 0));
  if (!own_directory) return OsError("cannot keep the bucket directory open");
  const Access& access = directory.access();
  const Status made = MakeFifo(own_directory.get(), name.c_str(), access);
  if (!made.ok()) return made;
  Result<UniqueFd> fifo = OpenFifo(own_directory.get(), name.c_str(), O_RDWR, access);
  if (!fifo.ok()) {
    unlinkat(own_directory.get(), name.c_str(), 0);
    return fifo.status();
  }
  // Restores permissions that the umask has removed.
  if (fchmod(fifo->get(), access.file_mode()) == -1) {
    const Status failed = OsError("cannot set the mode of a doorbell");
    unlinkat(own_directory.get(), name.c_str(), 0);
    return failed;
  }
  // A user may have 1,024 pipes of the default 16 pages. Rings need only the minimum.
  (void)fcntl(fifo->get(), F_SETPIPE_SZ, kFifoBytes);
  return Doorbell(std::move(own_directory), *std::move(fifo), std::move(name));
}

Doorbell::Doorbell(UniqueFd directory, UniqueFd fd, std::string name)
    : directory_(std::move(directory)),
      fd_(std::move(fd)),
      name_(std::move(name)),
      owner_process_(ProcessId()) {}

Doorbell::~Doorbell() {
  if (!fd_ || owner_process_ != ProcessId()) return;
  // Removes the name before the reader: a peer finds no FIFO, or one with a reader.
  if (IsNameOf(directory_.get(), name_.c_str(), fd_.get())) {
    unlinkat(directory_.get(), name_.c_str(), 0);
  }
}

void Doorbell::Wait(uint64_t timeout_ns) const {
  const uint64_t timeout_ms = timeout_ns / kNsPerMs + (timeout_ns % kNsPerMs != 0 ? 1 : 0);
  const int fd = fd_.IsIntact() ? fd_.get() : -1;  // poll() passes over -1
  pollfd doorbell{.fd = fd, .events = POLLIN, .revents = 0};
  (void)poll(&doorbell, 1, static_cast<int>(std::min<uint64_t>(timeout_ms, INT_MAX)));
}

void Doorbell::Drain() const {
  if (!fd_.IsIntact()) return;
  std::array<char, 4096> rings{};
  for (int i = 0; i < kMaxReads; ++i) {
    const ssize_t length =
        RetryOnEintr([&] { return read(fd_.get(), rings.data(), rings.size()); });
    if (length < static_cast<ssize_t>(rings.size())) return;
  }
}

Result<PeerDoorbell> PeerDoorbell::Open(const BucketDirectory& directory, const std::string& name) {
  if (!IsFileName(name)) {
    return Status(StatusCode::kInvalidArgument, "the name of a doorbell is not a file name");
  }
  Result<UniqueFd> fifo = OpenFifo(directory.fd(), name.c_str(), O_WRONLY, directory.access());
  if (!fifo.ok()) return fifo.status();
  return PeerDoorbell(*std::move(fifo));
}

Status PeerDoorbell::Ring() const {
  if (!fd_.IsIntact()) {
    return {StatusCode::kDisconnected, "the descriptor of the doorbell was closed"};
  }
  if (RetryOnEintr([&] { return WriteByteQuietly(fd_.get(), 0); }) == 1) return {};
  const int error = errno;
  if (error == EAGAIN) return {};  // full of unanswered rings
  if (error != EPIPE) return OsError("cannot ring a doorbell", error);
  return {StatusCode::kClosed, "the owner of the doorbell has gone", EPIPE};
}

}  // namespace platform
}  // namespace holdfast
