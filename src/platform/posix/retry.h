// Repeats calls that a signal has interrupted.
#ifndef HOLDFAST_PLATFORM_POSIX_RETRY_H_
#define HOLDFAST_PLATFORM_POSIX_RETRY_H_

#include <cerrno>

namespace holdfast {
inline namespace platform {

// Returns the result of `call`, which returns -1 and sets errno on failure.
template <typename Call>
auto RetryOnEintr(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_POSIX_RETRY_H_
