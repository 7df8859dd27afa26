// What kind of file system a place is on.
#ifndef HOLDFAST_PLATFORM_FILE_SYSTEM_H_
#define HOLDFAST_PLATFORM_FILE_SYSTEM_H_

#include <cstdint>

#include "platform/status.h"

namespace holdfast {
inline namespace platform {

// kNoAccess: the open file is on one that several machines, or a user program, may serve. Memory
// mapped from there is not shared, and locks there may not exclude anybody.
Status CheckFileSystem(int fd);
// Of the number that the kernel gives the kind.
bool IsNetworkFileSystem(uint64_t type);

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_FILE_SYSTEM_H_
