// Deferred work for shards that a stopped process keeps locked, or that need a repair: a JavaScript
// thread must do neither, wait or repair.
#ifndef HOLDFAST_CORE_SHARD_WORK_QUEUE_H_
#define HOLDFAST_CORE_SHARD_WORK_QUEUE_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>

#include "core/background_job.h"
#include "platform/status.h"

namespace holdfast::core {

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

}  // namespace holdfast::core

#endif  // HOLDFAST_CORE_SHARD_WORK_QUEUE_H_
