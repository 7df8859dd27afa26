// Calls that a signal may interrupt, made until they are through.
#ifndef HOLDFAST_PLATFORM_POSIX_RETRY_H_
#define HOLDFAST_PLATFORM_POSIX_RETRY_H_

#include <cerrno>

namespace holdfast {
inline namespace platform {

// The result of `call`, which answers -1 and sets errno on failure.
template <typename Call>
auto RetryOnEintr(Call call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_POSIX_RETRY_H_
