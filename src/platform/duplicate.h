// A second descriptor of an open file description.
#ifndef HOLDFAST_PLATFORM_DUPLICATE_H_
#define HOLDFAST_PLATFORM_DUPLICATE_H_

#include "platform/result.h"
#include "platform/unique_fd.h"

namespace holdfast {
inline namespace platform {

// Shares locks and file offset with `fd`; closed when this process runs another program.
Result<UniqueFd> Duplicate(int fd);

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_DUPLICATE_H_
