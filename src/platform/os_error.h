// From errno to Status: the one place that decides which code an operating system's error gets.
#ifndef HOLDFAST_PLATFORM_OS_ERROR_H_
#define HOLDFAST_PLATFORM_OS_ERROR_H_

#include <cerrno>

#include "platform/status.h"

namespace holdfast {
inline namespace platform {

// `reason` says what failed; limits of the process or the machine have their own reason.
Status OsError(const char* reason, int error);
// The same for the current errno.
Status OsError(const char* reason);

// Repeats calls that a signal has interrupted.

// Returns the result of `call`, which returns -1 and sets errno on failure.
template <typename Call>
auto RetryOnEintr(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_OS_ERROR_H_
