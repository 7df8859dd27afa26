#include "core/background_worker.h"

#include <algorithm>
#include <climits>

#include "core/shard_timeouts.h"
#include "platform/clock.h"
#include "segment/lock_word.h"

namespace holdfast::core {

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
  const std::vector<segment::ProcessRef> dead = reaper_.FindDeadProcesses(Reaper::kMaxChecks);
  if (!dead.empty()) (void)manager_.ReapProcess(dead.front(), kBriefNs);
  shard_work_.Run(is_stopping_);
  hold_limits_.Run(is_stopping_);
}

bool BackgroundWorker::ReapDeadProcesses(uint32_t max) {
  std::vector<segment::ProcessRef> dead = reaper_.FindDeadProcesses(Reaper::kMaxChecks);
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
  segment::Segment& segment = manager_.segment();
  for (uint32_t shard = 0; shard < segment.geometry().shards; ++shard) {
    const segment::LockWord word(segment, shard);
    const bool is_broken = segment.shard(shard).dirty.Get() != 0 ||
                           (word.IsLocked() && !manager_.host().IsAlive(word.Owner()));
    if (!is_broken || shard_work_.Has(shard, this)) continue;
    Defer(shard, this, [this, shard] {
      WakeQueue wake_queue(manager_.segment(), manager_.host());
      return manager_.Enter(shard, wake_queue, kWorkerTimeoutNs).status().code();
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
  // The dead that a newcomer has found are reaped also if it leaves at once.
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
    manager_.host().FutexWait(&never, 0, kRetryNs);
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
  const uint64_t now_ns = manager_.host().MonotonicNs();
  uint64_t due_ns = BackgroundJob::kNever;
  for (BackgroundJob* const job : jobs_) due_ns = std::min(due_ns, job->DueNs(now_ns));
  wakes_at_ns_.store(due_ns);
  if (due_ns == BackgroundJob::kNever) return -1;
  if (due_ns <= now_ns) return 0;
  const uint64_t wait_ms = (due_ns - now_ns + kNsPerMs - 1) / kNsPerMs;
  return static_cast<int>(std::min<uint64_t>(wait_ms, INT_MAX));
}

}  // namespace holdfast::core
