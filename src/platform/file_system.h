// Checks the kind of file system behind a file.
#ifndef HOLDFAST_PLATFORM_FILE_SYSTEM_H_
#define HOLDFAST_PLATFORM_FILE_SYSTEM_H_

#include <cstdint>

#include "platform/status.h"

namespace holdfast {
inline namespace platform {

// kNoAccess: the open file is on a network file system, or on a file system in user space.
// Memory mapped from there is not shared between machines, and locks there may not exclude.
Status CheckFileSystem(int fd);
// `type` is the kernel's number of the file system.
bool IsNetworkFileSystem(uint64_t type);

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_FILE_SYSTEM_H_
