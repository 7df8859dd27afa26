#include "core/os_host.h"

#include "platform/futex.h"
#include "platform/thread.h"

namespace holdfast::core {

void OsHost::FutexWait(std::atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns) {
  platform::FutexWait(word, expected, timeout_ns);
}

void OsHost::FutexWake(std::atomic<uint32_t>* word) { platform::FutexWake(word, 1); }

uint32_t OsHost::CurrentCpu() { return platform::CurrentCpu(); }

void OsHost::Pause() { platform::Pause(); }

void OsHost::RemoveDoorbell(const segment::AgentRef& agent) {
  (void)directory_.Unlink(DoorbellName(segment_, agent));
}

void OsHost::RemoveLifeline(segment::ProcessRef process) {
  (void)directory_.Unlink(LifelineName(segment_, process));
}

Status OsHost::Allocate(uint64_t offset, uint64_t length) {
  const Status allocated = file_.Allocate(offset, length);
  if (allocated.ok()) backing_.Note(offset, length);
  return allocated;
}

}  // namespace holdfast::core
