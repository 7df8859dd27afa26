// From errno to Status: the one place that decides which code an operating system's error gets.
#ifndef HOLDFAST_PLATFORM_POSIX_OS_ERROR_H_
#define HOLDFAST_PLATFORM_POSIX_OS_ERROR_H_

#include "platform/status.h"

namespace holdfast {
inline namespace platform {

// `reason` says what failed; limits of the process or the machine have their own reason.
Status OsError(const char* reason, int error);
// The same for the current errno.
Status OsError(const char* reason);

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_POSIX_OS_ERROR_H_
