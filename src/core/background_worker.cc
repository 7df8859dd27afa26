#include "core/background_worker.h"

#include <algorithm>
#include <climits>
#include <iterator>
#include <utility>
#include <vector>

#include "core/blockers.h"
#include "core/shard_timeouts.h"
#include "platform/clock.h"
#include "segment/lock_word.h"

namespace holdfast::core {

using segment::ProcessRef;

namespace {

// No running process is inside for this long. It is short enough that a false owner frees its shard
// before a warning.
constexpr uint64_t kSampleNs = 250'000'000;

}  // namespace

void OwnerChallenge::Run(const std::atomic<bool>& /*is_stopping*/) {
  const uint64_t now_ns = lock_table_.host().MonotonicNs();
  if (now_ns < next_ns_) return;
  next_ns_ = now_ns + kSampleNs;
  segment::Segment& segment = lock_table_.segment();
  samples_.resize(segment.geometry().shards);
  for (uint32_t shard = 0; shard < segment.geometry().shards; ++shard) {
    const segment::LockWord lock(segment, shard);
    const ProcessRef owner = lock.Owner();
    const Sample sample{owner.ToShortWord(), segment.shard(shard).changes.Get()};
    const bool is_same = std::exchange(samples_[shard], sample) == sample;
    if (!is_same || owner.generation == 0) continue;
    if (owner == lock_table_.self()) {
      segment::DisownShards(segment, owner, lock_table_.host());
    } else {
      Challenge(owner);
    }
  }
}

// Any of its event loops can answer: a rescan of its records also checks the lock words. A sleeping
// loop without requests is rung like all others.
void OwnerChallenge::Challenge(ProcessRef process) {
  segment::Segment& segment = lock_table_.segment();
  for (uint32_t i = 0; i < segment.geometry().agents; ++i) {
    const segment::AgentRef agent = segment.AgentAt(i);
    if (agent.process != process) continue;
    segment.agent(i).rescan.Exchange(1);
    lock_table_.host().Ring(agent);
  }
}

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

void BlockerUpdates::Add(std::span<const RecordRef> records) {
  const std::lock_guard<std::mutex> guard(mutex_);
  records_.insert(records_.end(), records.begin(), records.end());
}

void BlockerUpdates::Run(const std::atomic<bool>& /*is_stopping*/) {
  std::vector<RecordRef> records;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    records.swap(records_);
  }
  for (const RecordRef& record : records) {
    const Result<std::vector<ProcessRef>> blockers =
        Blockers(lock_table_, record, kWorkerTimeoutNs);
    if (blockers.ok()) {
      for (const ProcessRef process : *blockers) peers_.Watch(process);
      hold_limits_.Add(record, 0);  // the first check ends it if there is no hold limit
    } else if (blockers.status().code() == StatusCode::kBusy) {
      Add({&record, 1});
    }
  }
}

// The records left after Run() belong to a busy shard.
uint64_t BlockerUpdates::DueNs(uint64_t now_ns) {
  const std::lock_guard<std::mutex> guard(mutex_);
  return records_.empty() ? kNever : now_ns + kNsPerMs;
}

namespace {

// The pause before another attempt to replace the death watch.
constexpr uint64_t kRetryNs = 100 * kNsPerMs;

}  // namespace

Status BackgroundWorker::StartThread() {
  const std::lock_guard<std::mutex> guard(mutex_);
  return StartThreadLocked();
}

// REQUIRES: mutex_ is held.
Status BackgroundWorker::StartThreadLocked() {
  if (death_watch_ != nullptr) return Status();
  lacks_thread_ = true;
  Result<platform::DeathWatch> watch = platform::DeathWatch::Create();
  if (!watch.ok()) return watch.status();
  death_watch_ = std::make_unique<platform::DeathWatch>(std::move(*watch));
  peers_.UseDeathWatch(*death_watch_);
  const Status started = thread_.Start(&BackgroundWorker::Main, this);
  if (!started.ok()) death_watch_.reset();
  lacks_thread_ = !started.ok();
  return started;
}

// Has no effect before the thread has started.
void BackgroundWorker::Wake() {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (death_watch_ != nullptr) death_watch_->Wake();
}

// The first sweep of the thread finds what was not watched before it started.
void BackgroundWorker::RunInline() {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (!lacks_thread_) return;
    if (StartThreadLocked().ok()) return death_watch_->Wake();
  }
  const std::vector<segment::ProcessRef> dead =
      dead_process_finder_.FindDeadProcesses(DeadProcessFinder::kMaxChecks);
  if (!dead.empty()) (void)lock_table_.Reap(dead.front(), kBriefNs);
  shard_work_.Run(is_stopping_);
  hold_limits_.Run(is_stopping_);
}

bool BackgroundWorker::ReapDeadProcesses(uint32_t max) {
  std::vector<segment::ProcessRef> dead =
      dead_process_finder_.FindDeadProcesses(DeadProcessFinder::kMaxChecks);
  if (dead.size() > max) dead.resize(max);
  for (const segment::ProcessRef process : dead) (void)Watch(process);
  return !dead.empty();
}

// Repeated hand-offs to the same process must not wake the thread each time.
Status BackgroundWorker::Watch(segment::ProcessRef process) {
  if (IsWatched(process)) return Status();
  peers_.Watch(process);
  const Status started = StartThread();
  if (!started.ok()) return started;
  Wake();
  return Status();
}

void BackgroundWorker::UpdateBlockers(std::span<const RecordRef> records) {
  if (!StartThread().ok()) return;
  blocker_updates_.Add(records);
  Wake();
}

// Without a thread RunInline() checks the limits.
void BackgroundWorker::WatchHold(const RecordRef& record, uint64_t due_ns) {
  hold_limits_.Add(record, due_ns);
  if (StartThread().ok() && due_ns < wakes_at_ns_.load()) Wake();
}

void BackgroundWorker::Defer(uint32_t shard, const void* owner, ShardWorkQueue::Task task) {
  shard_work_.Add(shard, owner, std::move(task));
  if (StartThread().ok()) Wake();
}

void BackgroundWorker::RepairShards() {
  segment::Segment& segment = lock_table_.segment();
  for (uint32_t shard = 0; shard < segment.geometry().shards; ++shard) {
    const segment::LockWord word(segment, shard);
    const bool is_broken = segment.shard(shard).dirty.Get() != 0 ||
                           (word.IsLocked() && !lock_table_.host().IsAlive(word.Owner()));
    if (!is_broken || shard_work_.Has(shard, this)) continue;
    Defer(shard, this, [this, shard] {
      WakeQueue wake_queue(lock_table_.segment(), lock_table_.host());
      return lock_table_.Enter(shard, wake_queue, kWorkerTimeoutNs).status().code();
    });
  }
}

void BackgroundWorker::BeginWaiting(Waiter& waiter) {
  if (sweep_.BeginWaiting(waiter)) Wake();
}

void BackgroundWorker::Stop() {
  is_stopping_.store(true);
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (death_watch_ == nullptr) return;
    death_watch_->Wake();
  }
  thread_.Join();
}

void BackgroundWorker::Run() {
  constexpr int kMaxKeys = 32;
  std::array<uint64_t, kMaxKeys> keys{};
  // The dead that a newcomer has found, until it leaves.
  peers_.Run(is_stopping_);
  for (;;) {
    const int count = death_watch_->Wait(SleepMs(), keys.data(), kMaxKeys);
    if (count < 0) ReplaceDeathWatch();
    if (is_stopping_.load()) return;
    for (int i = 0; i < count; ++i) peers_.OnBrokenLifeline(keys[static_cast<size_t>(i)]);
    for (BackgroundJob* const job : jobs_) job->Run(is_stopping_);
  }
}

// The program has closed the watch's descriptors. Checks all watched processes, and watches them
// again.
void BackgroundWorker::ReplaceDeathWatch() {
  Result<platform::DeathWatch> watch = platform::DeathWatch::Create();
  if (!watch.ok()) {
    std::atomic<uint32_t> never{0};
    lock_table_.host().FutexWait(&never, 0, kRetryNs);
    return;
  }
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    death_watch_->Abandon();
    *death_watch_ = *std::move(watch);
  }
  peers_.SuspectAll();
}

// The time until the first job is due; -1: for ever.
int BackgroundWorker::SleepMs() {
  // From here on adding a hold limit wakes the thread, as a job may not see it below.
  wakes_at_ns_.store(BackgroundJob::kNever);
  const uint64_t now_ns = lock_table_.host().MonotonicNs();
  uint64_t due_ns = BackgroundJob::kNever;
  for (BackgroundJob* const job : jobs_) due_ns = std::min(due_ns, job->DueNs(now_ns));
  wakes_at_ns_.store(due_ns);
  if (due_ns == BackgroundJob::kNever) return -1;
  if (due_ns <= now_ns) return 0;
  const uint64_t wait_ms = (due_ns - now_ns + kNsPerMs - 1) / kNsPerMs;
  return static_cast<int>(std::min<uint64_t>(wait_ms, INT_MAX));
}

}  // namespace holdfast::core
