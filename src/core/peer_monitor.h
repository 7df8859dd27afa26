// Notices the deaths of the processes that this one waits for, and reaps the dead.
//
// Each process keeps a FIFO open for reading, its lifeline. The write end of it reports an error
// when that process dies, which makes the process a suspect. A suspect is reaped once the kernel
// confirms its death: a dying process closes its descriptors one by one.
#ifndef HOLDFAST_CORE_PEER_MONITOR_H_
#define HOLDFAST_CORE_PEER_MONITOR_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "core/background_job.h"
#include "core/dead_process_finder.h"
#include "core/lock_table.h"
#include "platform/bucket_directory.h"
#include "platform/death_watch.h"
#include "platform/doorbell.h"

namespace holdfast::core {

class PeerMonitor final : public BackgroundJob {
 public:
  PeerMonitor(LockTable& lock_table, const platform::BucketDirectory& directory,
              DeadProcessFinder& finder)
      : lock_table_(lock_table),
        directory_(directory),
        dead_process_finder_(finder),
        watched_(lock_table.segment().geometry().processes) {}

  // From the next Run() on the death of this process is noticed. Any thread.
  void Watch(segment::ProcessRef process);
  // See BackgroundWorker::IsWatched(). Any thread.
  bool IsWatched(segment::ProcessRef process) const {
    return process.slot < watched_.size() && process.generation != 0 &&
           watched_[process.slot].load(std::memory_order_relaxed) == process.generation;
  }

  // The other functions belong to the worker's thread.

  // The watch on the lifelines. REQUIRES: called before the first Run(), and `watch` outlives this
  // object.
  void UseDeathWatch(platform::DeathWatch& watch) { death_watch_ = &watch; }
  // The death watch has reported a broken lifeline, by its key.
  void OnBrokenLifeline(uint64_t key);
  // The death watch was replaced and watches nothing: all watched processes become suspects.
  void SuspectAll();
  // Checks at most `max` watched processes, in case a lifeline fails to report a death.
  void CheckWatched(uint32_t max);

  void Run(const std::atomic<bool>& is_stopping) override;
  uint64_t DueNs(uint64_t now_ns) override;

 private:
  struct Suspect {
    segment::ProcessRef process;
    uint32_t checks = 0;
    LockTable::ReapProgress progress{};
  };

  void OpenLifeline(segment::ProcessRef process);
  bool HoldLifeline(segment::ProcessRef process);
  void SetWatched(segment::ProcessRef process, uint32_t generation);
  void CheckSuspects(const std::atomic<bool>& is_stopping);
  bool IsSettled(Suspect& suspect, bool& was_dead);

  LockTable& lock_table_;
  const platform::BucketDirectory& directory_;
  DeadProcessFinder& dead_process_finder_;

  std::mutex mutex_;
  std::vector<segment::ProcessRef> to_watch_;  // guarded by mutex_

  // By slot: the generation whose lifeline is among lifelines_; 0: none. Stored by the thread.
  std::vector<std::atomic<uint32_t>> watched_;

  // The thread's own.
  platform::DeathWatch* death_watch_ = nullptr;
  std::map<uint64_t, platform::PeerDoorbell> lifelines_;  // by ProcessRef word
  std::vector<Suspect> suspects_;
  uint64_t last_checked_ = 0;  // key of lifelines_
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_PEER_MONITOR_H_
