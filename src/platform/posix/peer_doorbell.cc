#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "platform/doorbell.h"
#include "platform/posix/fifo.h"
#include "platform/posix/file_name.h"
#include "platform/posix/os_error.h"
#include "platform/posix/retry.h"
#include "platform/quiet_write.h"

namespace holdfast {
inline namespace platform {

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
