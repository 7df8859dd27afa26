// The helper thread of an attached process. It waits for the deaths that this process has to know
// of, cleans up after the dead, and does what a JavaScript thread may not wait for.
//
// It starts when it is first needed: a process that never waits for another has no such thread.
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
  // Something for a shard that is kept locked by a process that does not run. Answers kBusy to be
  // asked again; tasks of one shard are done in their order.
  using Task = std::function<StatusCode()>;

  struct Options {
    // The net under the mechanisms: looks at everything once a second. Off in tests, so that none
    // of them passes because of it.
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

  // From now on the death of this process is noticed and cleaned up after. To be called after what
  // waits for that process is in the table: see IsWatched().
  Status Watch(segment::ProcessRef process);
  // Whether the thread listens for the death of this process. True may be old events, but whoever
  // knew before that the process had a part in the table need not ask for more. Either the thread
  // still listens, or it has heard and is to clean up. That cleaning enters each shard and cannot
  // have left the one where the process was met after it was met there: so it comes, and finds
  // the request that waits.
  bool IsWatched(segment::ProcessRef process) const {
    return process.slot < watched_.size() && process.generation != 0 &&
           watched_[process.slot].load(std::memory_order_relaxed) == process.generation;
  }
  // A request of this process waits, or does not wait any more. While none does, nothing sweeps.
  void BeginWaiting();
  void EndWaiting(uint32_t count = 1) { waiting_.fetch_sub(count); }
  // Watches whoever a waiting request waits for now, and their hold limits.
  void UpdateBlockers(const RecordRef& record);
  // Keeps the hold limits that a request of this process has to do with, from `due_ns` on
  // (MonotonicNs).
  void WatchHold(const RecordRef& record, uint64_t due_ns);
  // The request has ended.
  void ForgetHold(const RecordRef& record);
  // `owner`: whose task it is, for CancelTasks.
  void Defer(uint32_t shard, const void* owner, Task task);
  // Afterwards no task of this owner runs any more.
  void CancelTasks(const void* owner);
  // Cleans up after a process that is known to be dead. kBusy: the background worker goes on with
  // it.
  Status CleanUp(segment::ProcessRef process, uint64_t timeout_ns);
  // Looks for processes that died without anybody waiting for them, and cleans up after at most so
  // many. In the thread that calls.
  void ReapDeadProcesses(uint32_t max);
  // To be called about once a second by whoever waits. Where the thread could not be started, this
  // tries again; until it runs the caller does the most urgent part of its work.
  void RunInline();
  // Ends the thread; what was deferred is dropped.
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

  // Guarded by mutex_: what other threads leave for the background worker.
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
  std::atomic<uint32_t> next_slot_{0};   // whom to ask next whether it lives
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
