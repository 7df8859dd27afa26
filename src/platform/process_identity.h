// The ids by which people and tools know this process. The lock table never relies on them (see
// slot_lock.h).
#ifndef HOLDFAST_PLATFORM_PROCESS_IDENTITY_H_
#define HOLDFAST_PLATFORM_PROCESS_IDENTITY_H_

#include <cstdint>

namespace holdfast {
inline namespace platform {

uint32_t ProcessId();
// The owner of the files that it creates.
uint32_t EffectiveUserId();
// Process ids are comparable if this is equal and not 0 (unknown).
uint64_t PidNamespace();

}  // namespace platform
}  // namespace holdfast

#endif  // HOLDFAST_PLATFORM_PROCESS_IDENTITY_H_
