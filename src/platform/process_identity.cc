#include "platform/process_identity.h"

#include <sys/stat.h>
#include <unistd.h>

namespace holdfast {
inline namespace platform {

uint32_t ProcessId() { return static_cast<uint32_t>(getpid()); }

uint32_t EffectiveUserId() { return geteuid(); }

uint64_t PidNamespace() {
  struct stat found {};
  return stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

}  // namespace platform
}  // namespace holdfast
