#include "platform/cpu.h"

#include <sched.h>

namespace holdfast {
inline namespace platform {

uint32_t CurrentCpu() { return static_cast<uint32_t>(sched_getcpu() + 1); }

}  // namespace platform
}  // namespace holdfast
