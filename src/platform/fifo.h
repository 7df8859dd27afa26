// The FIFO of a doorbell, seen from either end.
#ifndef HOLDFAST_PLATFORM_FIFO_H_
#define HOLDFAST_PLATFORM_FIFO_H_

#include <sys/types.h>

#include "platform/fd.h"
#include "platform/result.h"

namespace holdfast {
inline namespace platform {

// Opens `name` with `access` (O_RDWR or O_WRONLY), never waiting and never following a link.
// kClosed: there is none, or (O_WRONLY) it has no reader. kNoAccess: not a FIFO of ours.
Result<UniqueFd> OpenFifo(int directory, const char* name, int access);

// Writes one byte into a FIFO without raising SIGPIPE. Returns as write() does: -1 with EPIPE if
// the FIFO has no reader.
ssize_t WriteByteQuietly(int fd, char byte);

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_FIFO_H_
