#include "core/dead_process_finder.h"

namespace holdfast::core {

using segment::ProcessRef;

std::vector<ProcessRef> DeadProcessFinder::FindDeadProcesses(uint32_t max_checks) {
  std::vector<ProcessRef> dead;
  segment::Segment& segment = lock_table_.segment();
  const uint32_t processes = segment.geometry().processes;
  const uint32_t first = next_slot_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < processes && max_checks > 0; ++i) {
    const uint32_t slot = (first + i) % processes;
    next_slot_.store(slot + 1, std::memory_order_relaxed);
    const segment::ProcessEntry& entry = segment.process(slot);
    const ProcessRef process{static_cast<uint16_t>(slot), entry.generation.Acquire()};
    if (process.generation == entry.cleaned_generation.Acquire()) continue;
    if (process == lock_table_.self()) continue;
    --max_checks;
    if (!lock_table_.host().IsAlive(process)) dead.push_back(process);
  }
  return dead;
}

}  // namespace holdfast::core
