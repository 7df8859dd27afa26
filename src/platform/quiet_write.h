// A write() that raises no SIGPIPE.
#ifndef HOLDFAST_PLATFORM_QUIET_WRITE_H_
#define HOLDFAST_PLATFORM_QUIET_WRITE_H_

namespace holdfast {
inline namespace platform {

// Writes one byte into a FIFO. False, with errno: it has not; EPIPE, and nothing else, where nobody
// reads the FIFO.
bool WriteByteQuietly(int fd, char byte);

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_QUIET_WRITE_H_
