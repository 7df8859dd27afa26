// The helper thread of an attached process. It waits for the deaths that matter to this process,
// reaps the dead, and does work that a JavaScript thread must not wait for.
//
// The work is a list of jobs. The thread runs all of them each time it wakes, and sleeps until the
// first one is due. It starts at the first need: a process that never waits for another one has no
// such thread.
#ifndef HOLDFAST_CORE_BACKGROUND_WORKER_H_
#define HOLDFAST_CORE_BACKGROUND_WORKER_H_

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "core/background_job.h"
#include "core/dead_process_finder.h"
#include "core/hold_limits.h"
#include "core/lock_table.h"
#include "core/peer_monitor.h"
#include "core/sweep.h"
#include "platform/bucket_directory.h"
#include "platform/death_watch.h"
#include "platform/status.h"
#include "platform/thread.h"

namespace holdfast::core {

// Challenges the owner of a shard that stays locked. The owner is stopped inside, or a corrupted
// lock word names a process that is not inside. Such a process frees the shard when it is
// challenged (segment/lock_word.h).
class OwnerChallenge final : public BackgroundJob {
 public:
  explicit OwnerChallenge(LockTable& lock_table) : lock_table_(lock_table) {}

  // Samples the shards at most once per kSampleNs.
  void Run(const std::atomic<bool>& is_stopping) override;
  // The thread does not wake for the samples alone: the sweep wakes it.
  uint64_t DueNs(uint64_t /*now_ns*/) override { return kNever; }

 private:
  struct Sample {
    uint32_t word = 0;
    uint64_t changes = 0;
    friend bool operator==(const Sample&, const Sample&) = default;
  };

  void Challenge(segment::ProcessRef process);

  LockTable& lock_table_;
  std::vector<Sample> samples_;  // of the last sample, by shard
  uint64_t next_ns_ = 0;
};

// Deferred work for shards that a stopped process keeps locked, or that need a repair: a JavaScript
// thread must do neither, wait or repair.
class ShardWorkQueue final : public BackgroundJob {
 public:
  // Returns kBusy to be called again. The tasks of a shard run in order.
  using Task = std::function<StatusCode()>;

  // `owner` identifies the task for Cancel(). Any thread.
  void Add(uint32_t shard, const void* owner, Task task);
  // Whether the owner has a task for the shard. Any thread.
  bool Has(uint32_t shard, const void* owner);
  // Afterwards no task of this owner runs any more. Any thread but the worker's.
  void Cancel(const void* owner);

  void Run(const std::atomic<bool>& is_stopping) override;
  uint64_t DueNs(uint64_t now_ns) override;

 private:
  struct Entry {
    const void* owner;
    Task task;
  };

  bool RunFirst(uint32_t shard, std::unique_lock<std::mutex>& lock);

  // Guarded by mutex_, which no thread holds while a task runs.
  std::mutex mutex_;
  std::condition_variable task_done_;
  std::map<uint32_t, std::deque<Entry>> entries_;  // by shard
  const void* running_owner_ = nullptr;
  bool is_running_ = false;  // in the thread, or in BackgroundWorker::RunInline()
};

// Finds the current blockers of waiting requests, and has their deaths and hold limits watched.
class BlockerUpdates final : public BackgroundJob {
 public:
  BlockerUpdates(LockTable& lock_table, PeerMonitor& peers, HoldLimitEnforcer& hold_limits)
      : lock_table_(lock_table), peers_(peers), hold_limits_(hold_limits) {}

  // The blockers of these waiting requests may have changed. Any thread.
  void Add(std::span<const RecordRef> records);

  void Run(const std::atomic<bool>& is_stopping) override;
  uint64_t DueNs(uint64_t now_ns) override;

 private:
  LockTable& lock_table_;
  PeerMonitor& peers_;
  HoldLimitEnforcer& hold_limits_;
  std::mutex mutex_;
  std::vector<RecordRef> records_;  // guarded by mutex_
};

class BackgroundWorker {
 public:
  struct Options {
    // The fallback of the mechanisms: scans everything once a second. Tests turn it off, so that
    // none of them passes because of it.
    bool sweeps = true;
  };

  BackgroundWorker(LockTable& lock_table, const platform::BucketDirectory& directory,
                   Options options)
      : lock_table_(lock_table),
        dead_process_finder_(lock_table),
        peers_(lock_table, directory, dead_process_finder_),
        hold_limits_(lock_table),
        blocker_updates_(lock_table, peers_, hold_limits_),
        owner_challenge_(lock_table),
        sweep_(lock_table, peers_, dead_process_finder_, options.sweeps) {}
  BackgroundWorker(const BackgroundWorker&) = delete;
  BackgroundWorker& operator=(const BackgroundWorker&) = delete;
  ~BackgroundWorker() { Stop(); }

  // From now on the death of this process is noticed, and it is reaped; then agents with events are
  // rung. If the thread cannot be started, this begins once the thread runs. REQUIRES: a request
  // that waits for the process is in the table already, see IsWatched().
  Status Watch(segment::ProcessRef process);
  // Whether the thread watches for the death of this process. The answer may be outdated, but it is
  // enough for a caller that has just seen a record of the process. Either the thread still
  // watches, or it has noticed the death and will reap. Reaping enters every shard, and has not yet
  // left the one with that record: so it will also find the request that waits.
  bool IsWatched(segment::ProcessRef process) const { return peers_.IsWatched(process); }
  // Sweeps run only while a waiter of this process waits. A waiter that ends to wait clears its
  // `is_waiting` flag.
  void AddWaiter(Waiter& waiter) { sweep_.Add(waiter); }
  void RemoveWaiter(Waiter& waiter) { sweep_.Remove(waiter); }
  void BeginWaiting(Waiter& waiter);
  // Watches the current blockers of waiting requests, and their hold limits.
  void UpdateBlockers(std::span<const RecordRef> records);
  // Checks the hold limits that concern a request of this process, from `due_ns` on (MonotonicNs).
  void WatchHold(const RecordRef& record, uint64_t due_ns);
  // The request has ended.
  void ForgetHold(const RecordRef& record) { hold_limits_.Remove(record); }
  // Work for a shard that a stopped process keeps locked, or that needs a repair. `owner`
  // identifies the task for CancelTasks().
  void Defer(uint32_t shard, const void* owner, ShardWorkQueue::Task task);
  // Has the thread repair the shards that need it. For a caller that found a busy shard and
  // publishes no operation, whose deferred entry would repair that shard.
  void RepairShards();
  // Afterwards no task of this owner runs any more.
  void CancelTasks(const void* owner) { shard_work_.Cancel(owner); }
  // Finds processes that died unwatched, and has the thread reap at most `max` of them. Returns
  // whether there are any among those that it has checked.
  bool ReapDeadProcesses(uint32_t max);
  // Called about once a second by agents that wait. If the thread could not be started, this tries
  // again; until it runs, the caller does the most urgent part of its work.
  void RunInline();
  // Ends the thread and drops deferred tasks.
  void Stop();

 private:
  Status StartThread();
  Status StartThreadLocked();
  void Wake();
  static void Main(void* self) { static_cast<BackgroundWorker*>(self)->Run(); }
  void Run();
  void ReplaceDeathWatch();
  int SleepMs();

  LockTable& lock_table_;

  // Guarded by mutex_: the thread, and what wakes it.
  std::mutex mutex_;
  std::unique_ptr<platform::DeathWatch> death_watch_;
  platform::BackgroundThread thread_;
  bool lacks_thread_ = false;  // it was needed, and could not be started

  std::atomic<bool> is_stopping_{false};
  std::atomic<uint64_t> wakes_at_ns_{0};  // the thread sleeps until then at most

  DeadProcessFinder dead_process_finder_;
  PeerMonitor peers_;
  HoldLimitEnforcer hold_limits_;
  BlockerUpdates blocker_updates_;
  ShardWorkQueue shard_work_;
  OwnerChallenge owner_challenge_;
  Sweep sweep_;
  // In the order in which they run: blockers that were found are watched at once.
  const std::array<BackgroundJob*, 6> jobs_{&blocker_updates_, &peers_,           &shard_work_,
                                            &hold_limits_,     &owner_challenge_, &sweep_};
};

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_BACKGROUND_WORKER_H_
