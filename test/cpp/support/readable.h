// Whether a descriptor can be read from now.
#ifndef HOLDFAST_TEST_SUPPORT_READABLE_H_
#define HOLDFAST_TEST_SUPPORT_READABLE_H_

#include <poll.h>

namespace holdfast::test {

inline bool IsReadable(int fd) {
  pollfd request{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&request, 1, 0) == 1;
}

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SUPPORT_READABLE_H_
