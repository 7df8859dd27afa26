#include "platform/doorbell.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "platform/clock.h"
#include "platform/fifo.h"
#include "platform/os_error.h"
#include "platform/private_file.h"
#include "platform/process_identity.h"

namespace holdfast {
inline namespace platform {

namespace {

constexpr int kFifoBytes = 4096;
constexpr int kMaxReads = 16;  // the capacity if it could not be changed

// Creates the FIFO; replaces a FIFO that a dead owner left behind.
Status MakeFifo(int directory, const char* name) {
  constexpr mode_t kMode = S_IRUSR | S_IWUSR;
  if (mkfifoat(directory, name, kMode) == 0) return {};
  if (errno == EEXIST) {
    const Result<UniqueFd> found = OpenFifo(directory, name, O_WRONLY);
    if (found.ok()) return {StatusCode::kBusy, "the name of this doorbell is in use", EEXIST};
    if (found.status().code() != StatusCode::kClosed) return found.status();
    unlinkat(directory, name, 0);
    if (mkfifoat(directory, name, kMode) == 0) return {};
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
  const Status made = MakeFifo(own_directory.get(), name.c_str());
  if (!made.ok()) return made;
  Result<UniqueFd> fifo = OpenFifo(own_directory.get(), name.c_str(), O_RDWR);
  if (!fifo.ok()) {
    unlinkat(own_directory.get(), name.c_str(), 0);
    return fifo.status();
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
  Result<UniqueFd> fifo = OpenFifo(directory.fd(), name.c_str(), O_WRONLY);
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
