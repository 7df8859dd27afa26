// A file system that is full soon.
#ifndef HOLDFAST_TEST_CPP_PLATFORM_SMALL_TMPFS_H_
#define HOLDFAST_TEST_CPP_PLATFORM_SMALL_TMPFS_H_

#include <functional>
#include <string>

namespace holdfast {

inline constexpr int kCannotMount = 77;

// Runs `body` in a child process that has a tmpfs with room for `bytes` mounted on `path`, for
// itself alone, so that it goes away with the child. The exit status of `body` (minus the signal
// that killed it), or kCannotMount.
int OnSmallTmpfs(const std::string& path, unsigned bytes, const std::function<int()>& body);

}  // namespace holdfast

#endif  // HOLDFAST_TEST_CPP_PLATFORM_SMALL_TMPFS_H_
