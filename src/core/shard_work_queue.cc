#include "core/shard_work_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "platform/clock.h"

namespace holdfast::core {

void ShardWorkQueue::Add(uint32_t shard, const void* owner, Task task) {
  const std::lock_guard<std::mutex> guard(mutex_);
  entries_[shard].push_back({owner, std::move(task)});
}

bool ShardWorkQueue::Has(uint32_t shard, const void* owner) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = entries_.find(shard);
  return found != entries_.end() &&
         std::any_of(found->second.begin(), found->second.end(),
                     [owner](const Entry& entry) { return entry.owner == owner; });
}

void ShardWorkQueue::Cancel(const void* owner) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (auto it = entries_.begin(); it != entries_.end();) {
    std::erase_if(it->second, [owner](const Entry& entry) { return entry.owner == owner; });
    it = it->second.empty() ? entries_.erase(it) : std::next(it);
  }
  task_done_.wait(lock, [&] { return running_owner_ != owner; });
}

void ShardWorkQueue::Run(const std::atomic<bool>& is_stopping) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (std::exchange(is_running_, true)) return;
  std::vector<uint32_t> shards;
  for (const auto& [shard, entries] : entries_) shards.push_back(shard);
  for (const uint32_t shard : shards) {
    while (!is_stopping.load() && RunFirst(shard, lock)) {
    }
  }
  is_running_ = false;
}

// False: the shard has no tasks left, or its first one must be called again.
bool ShardWorkQueue::RunFirst(uint32_t shard, std::unique_lock<std::mutex>& lock) {
  const auto found = entries_.find(shard);
  if (found == entries_.end()) return false;
  running_owner_ = found->second.front().owner;
  const Task task = found->second.front().task;
  lock.unlock();
  const StatusCode code = task();
  lock.lock();
  const auto it = entries_.find(shard);  // Cancel() may have removed the task meanwhile
  const bool is_there = it != entries_.end() && it->second.front().owner == running_owner_;
  if (code != StatusCode::kBusy && is_there) {
    it->second.pop_front();
    if (it->second.empty()) entries_.erase(it);
  }
  running_owner_ = nullptr;
  task_done_.notify_all();
  return code != StatusCode::kBusy;
}

// The entries left after Run() belong to busy shards.
uint64_t ShardWorkQueue::DueNs(uint64_t now_ns) {
  const std::lock_guard<std::mutex> guard(mutex_);
  return entries_.empty() ? kNever : now_ns + kNsPerMs;
}

}  // namespace holdfast::core
