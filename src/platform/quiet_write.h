// A write() that raises no SIGPIPE.
#ifndef HOLDFAST_PLATFORM_QUIET_WRITE_H_
#define HOLDFAST_PLATFORM_QUIET_WRITE_H_

#include <sys/types.h>

namespace holdfast {
inline namespace platform {

// Writes one byte into a FIFO, and answers like write(): where nobody reads the FIFO, -1 with
// EPIPE, and nothing else happens.
ssize_t WriteByteQuietly(int fd, char byte);

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_QUIET_WRITE_H_
