// The helper thread of an attached process. It waits for the deaths that matter to this process,
// reaps the dead, and does work that a JavaScript thread must not wait for.
//
// It starts at the first need: a process that never waits for another one has no such thread.
#ifndef HOLDFAST_CORE_BACKGROUND_WORKER_H_
#define HOLDFAST_CORE_BACKGROUND_WORKER_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "core/hold_limit_timers.h"
#include "core/lock_manager.h"
#include "core/stalled_shards.h"
#include "platform/background_thread.h"
#include "platform/bucket_directory.h"
#include "platform/death_watch.h"
#include "platform/doorbell.h"

namespace holdfast::core {

class BackgroundWorker {
 public:
  // Work for a shard that a stopped process keeps locked. Returns kBusy to be called again. The
  // tasks of a shard run in order.
  using Task = std::function<StatusCode()>;

  struct Options {
    // The fallback of the mechanisms: scans everything once a second. Tests turn it off, so that
    // none of them passes because of it.
    bool sweeps = true;
  };

  BackgroundWorker(LockManager& manager, const platform::BucketDirectory& directory,
                   Options options)
      : manager_(manager),
        directory_(directory),
        options_(options),
        watched_(manager.segment().geometry().processes) {}
  BackgroundWorker(const BackgroundWorker&) = delete;
  BackgroundWorker& operator=(const BackgroundWorker&) = delete;
  ~BackgroundWorker() { Stop(); }

  // From now on the death of this process is noticed, and it is reaped. REQUIRES: the request that
  // waits for it is in the table already, see IsWatched().
  Status Watch(segment::ProcessRef process);
  // Whether the thread watches for the death of this process. The answer may be outdated, but it is
  // enough for a caller that has just seen a record of the process. Either the thread still
  // watches, or it has noticed the death and will reap. Reaping enters every shard, and has not yet
  // left the one with that record: so it will also find the request that waits.
  bool IsWatched(segment::ProcessRef process) const {
    return process.slot < watched_.size() && process.generation != 0 &&
           watched_[process.slot].load(std::memory_order_relaxed) == process.generation;
  }
  // A request of this process begins or ends to wait. There are no sweeps while none waits.
  void BeginWaiting();
  void EndWaiting(uint32_t count = 1) { waiting_.fetch_sub(count); }
  // Watches the current blockers of a waiting request, and their hold limits.
  void UpdateBlockers(const RecordRef& record);
  // Checks the hold limits that concern a request of this process, from `due_ns` on (MonotonicNs).
  void WatchHold(const RecordRef& record, uint64_t due_ns);
  // The request has ended.
  void ForgetHold(const RecordRef& record);
  // `owner` identifies the task for CancelTasks().
  void Defer(uint32_t shard, const void* owner, Task task);
  // Afterwards no task of this owner runs any more.
  void CancelTasks(const void* owner);
  // Reaps a process that is known to be dead. kBusy: the background worker continues.
  Status CleanUp(segment::ProcessRef process, uint64_t timeout_ns);
  // Finds processes that died unwatched, and reaps at most `max` of them. Runs on the calling
  // thread.
  void ReapDeadProcesses(uint32_t max);
  // Called about once a second by agents that wait. If the thread could not be started, this tries
  // again; until it runs, the caller does the most urgent part of its work.
  void RunInline();
  // Ends the thread and drops deferred tasks.
  void Stop();

 private:
  struct Deferred {
    const void* owner;
    Task task;
  };
  struct Suspect {
    segment::ProcessRef process;
    uint32_t asked = 0;
    LockManager::ReapProgress rest{};
  };

  Status StartThread();
  void ReplaceWatch();
  bool IsSweepDue();
  void AskWatched(uint32_t max);
  static void Main(void* self) { static_cast<BackgroundWorker*>(self)->Run(); }
  void Run();
  int TimeoutMs();
  int MaxSleepMs() const;
  void TakeCommands();
  void OpenLifeline(segment::ProcessRef process);
  bool HoldLifeline(segment::ProcessRef process);
  void SetWatched(segment::ProcessRef process, uint32_t generation);
  void AskSuspects();
  std::vector<segment::ProcessRef> FindDeadProcesses(uint32_t max_questions);
  void RunDeferred();
  void EnforceHolds();
  void Sweep();

  LockManager& manager_;
  const platform::BucketDirectory& directory_;
  const Options options_;

  // Guarded by mutex_: commands of other threads for the background worker.
  mutable std::mutex mutex_;
  std::condition_variable task_done_;
  std::vector<segment::ProcessRef> to_watch_;
  std::vector<RecordRef> to_update_;
  std::map<uint32_t, std::deque<Deferred>> deferred_;  // by shard
  HoldLimitTimers holds_;
  uint64_t wakes_at_ns_ = 0;  // the thread sleeps until then at most
  const void* running_owner_ = nullptr;
  bool is_stopping_ = false;
  bool lacks_thread_ = false;  // it was needed, and could not be started
  std::unique_ptr<platform::DeathWatch> watch_;
  platform::BackgroundThread thread_;
  std::atomic<uint32_t> deferred_count_{0};
  std::atomic<uint32_t> waiting_{0};
  std::atomic<bool> has_waited_{false};  // since the last sweep
  std::atomic<bool> is_idle_{false};     // the thread does not sweep until something waits
  std::atomic<uint32_t> next_slot_{0};   // the next slot whose liveness is checked
  // By slot: the generation whose lifeline is among lifelines_; 0: none. Stored by the thread.
  std::vector<std::atomic<uint32_t>> watched_;

  // The thread's own.
  std::map<uint64_t, platform::PeerDoorbell> lifelines_;  // by ProcessRef word
  std::vector<Suspect> suspects_;
  StalledShards stalled_shards_{manager_};
  uint64_t next_sweep_ns_ = 0;
  uint64_t last_asked_ = 0;  // key of lifelines_
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_BACKGROUND_WORKER_H_
