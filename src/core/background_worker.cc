#include "core/background_worker.h"

#include <algorithm>
#include <array>
#include <climits>
#include <utility>

#include "core/blockers.h"
#include "core/peer_doorbells.h"
#include "core/shard_timeouts.h"
#include "platform/clock.h"
#include "segment/event_list.h"

namespace holdfast::core {

using segment::ProcessRef;

namespace {

// A dying process closes its descriptors one by one. Its death is checked this often, once per
// millisecond, and then less often.
constexpr uint32_t kSuspicions = 200;
constexpr uint64_t kSweepNs = 1'000'000'000;
constexpr int kSweepMs = 1000;
// The maximum number of liveness checks per sweep, and per newcomer or finder of a death. The
// kernel's answer takes longer the more processes there are, and all of them may sweep.
constexpr uint32_t kQuestionsPerSweep = 16;
constexpr uint32_t kQuestions = 128;
// The interval of later checks.
constexpr int kPatientMs = 100;
// A busy shard extends a lock's limit by this time.
constexpr uint64_t kBusyNs = 5'000'000;

}  // namespace

Status BackgroundWorker::StartThread() {
  if (watch_ != nullptr) return Status();
  lacks_thread_ = true;
  Result<platform::DeathWatch> watch = platform::DeathWatch::Create();
  if (!watch.ok()) return watch.status();
  watch_ = std::make_unique<platform::DeathWatch>(std::move(*watch));
  const Status started = thread_.Start(&BackgroundWorker::Main, this);
  if (!started.ok()) watch_.reset();
  lacks_thread_ = !started.ok();
  return started;
}

// The first sweep of the thread finds what was not watched before it started.
void BackgroundWorker::RunInline() {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (!lacks_thread_) return;
    if (StartThread().ok()) return watch_->Wake();
  }
  ReapDeadProcesses(1);
  EnforceHolds();
}

// Repeated hand-offs to the same process must not wake the thread each time.
Status BackgroundWorker::Watch(ProcessRef process) {
  if (IsWatched(process)) return Status();
  const std::lock_guard<std::mutex> guard(mutex_);
  const Status started = StartThread();
  if (!started.ok()) return started;
  to_watch_.push_back(process);
  watch_->Wake();
  return Status();
}

void BackgroundWorker::UpdateBlockers(const RecordRef& record) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (!StartThread().ok()) return;
  to_update_.push_back(record);
  watch_->Wake();
}

void BackgroundWorker::WatchHold(const RecordRef& record, uint64_t due_ns) {
  const std::lock_guard<std::mutex> guard(mutex_);
  holds_.Add(record, due_ns);
  // Without a thread RunInline() checks the limits.
  if (StartThread().ok() && due_ns < wakes_at_ns_) watch_->Wake();
}

void BackgroundWorker::ForgetHold(const RecordRef& record) {
  const std::lock_guard<std::mutex> guard(mutex_);
  holds_.Remove(record);
}

void BackgroundWorker::Defer(uint32_t shard, const void* owner, Task task) {
  const std::lock_guard<std::mutex> guard(mutex_);
  deferred_[shard].push_back({owner, std::move(task)});
  deferred_count_.fetch_add(1, std::memory_order_release);
  if (StartThread().ok()) watch_->Wake();
}

void BackgroundWorker::CancelTasks(const void* owner) {
  std::unique_lock<std::mutex> lock(mutex_);
  for (auto it = deferred_.begin(); it != deferred_.end();) {
    const auto removed = std::erase_if(
        it->second, [owner](const Deferred& deferred) { return deferred.owner == owner; });
    deferred_count_.fetch_sub(static_cast<uint32_t>(removed), std::memory_order_release);
    it = it->second.empty() ? deferred_.erase(it) : std::next(it);
  }
  task_done_.wait(lock, [&] { return running_owner_ != owner; });
}

void BackgroundWorker::Stop() {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    is_stopping_ = true;
    if (watch_ == nullptr) return;
    watch_->Wake();
  }
  thread_.Join();
}

void BackgroundWorker::Run() {
  constexpr int kWakeQueue = 32;
  std::array<uint64_t, kWakeQueue> keys{};
  for (;;) {
    const int count = watch_->Wait(TimeoutMs(), keys.data(), kWakeQueue);
    if (count < 0) ReplaceWatch();
    {
      const std::lock_guard<std::mutex> guard(mutex_);
      if (is_stopping_) return;
    }
    for (int i = 0; i < count; ++i) {
      const auto it = lifelines_.find(keys[static_cast<size_t>(i)]);
      if (it == lifelines_.end()) continue;
      const ProcessRef process = ProcessRef::FromWord(it->first);
      SetWatched(process, 0);
      watch_->Unwatch(it->second.fd());
      suspects_.push_back({process});
      lifelines_.erase(it);
    }
    TakeCommands();
    AskSuspects();
    RunDeferred();
    EnforceHolds();
    stalled_shards_.Look();
    if (IsSweepDue()) Sweep();
  }
}

// The program has closed the watch's descriptors. Checks all watched processes, and watches them
// again.
void BackgroundWorker::ReplaceWatch() {
  Result<platform::DeathWatch> watch = platform::DeathWatch::Create();
  if (!watch.ok()) {
    std::atomic<uint32_t> never{0};
    manager_.host().FutexWait(&never, 0, kPatientMs * kNsPerMs);
    return;
  }
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    watch_->Abandon();
    *watch_ = *std::move(watch);
  }
  for (const auto& [key, peer] : lifelines_) {
    const ProcessRef process = ProcessRef::FromWord(key);
    SetWatched(process, 0);
    suspects_.push_back({process});
  }
  lifelines_.clear();
}

void BackgroundWorker::BeginWaiting() {
  waiting_.fetch_add(1);
  if (!has_waited_.load(std::memory_order_relaxed)) has_waited_.store(true);
  if (!is_idle_.load()) return;
  const std::lock_guard<std::mutex> guard(mutex_);
  if (is_idle_.exchange(false) && watch_ != nullptr) watch_->Wake();
}

// One sweep follows the end of the last wait, so that repeated requests do not wake the thread each
// time.
bool BackgroundWorker::IsSweepDue() {
  if (!options_.sweeps || is_idle_.load() || platform::MonotonicNs() < next_sweep_ns_) return false;
  if (waiting_.load() != 0 || has_waited_.exchange(false)) return true;
  is_idle_.store(true);
  // A request that began just now may not have seen it.
  if (waiting_.load() != 0) is_idle_.store(false);
  return !is_idle_.load();
}

int BackgroundWorker::TimeoutMs() {
  const uint64_t now_ns = platform::MonotonicNs();
  const int patience_ms = MaxSleepMs();
  const std::lock_guard<std::mutex> guard(mutex_);
  wakes_at_ns_ = patience_ms < 0 ? HoldLimitTimers::kNever
                                 : now_ns + static_cast<uint64_t>(patience_ms) * kNsPerMs;
  const uint64_t due_ns = holds_.NextDueNs();
  if (due_ns >= wakes_at_ns_) return patience_ms;
  wakes_at_ns_ = due_ns;
  if (due_ns <= now_ns) return 0;
  const uint64_t wait_ms = (due_ns - now_ns + kNsPerMs - 1) / kNsPerMs;
  return static_cast<int>(std::min<uint64_t>(wait_ms, INT_MAX));
}

// The longest sleep of the thread, unless a hold limit passes first; -1: for ever.
int BackgroundWorker::MaxSleepMs() const {
  const bool is_asking = std::any_of(suspects_.begin(), suspects_.end(),
                                     [](const Suspect& s) { return s.asked < kSuspicions; });
  if (is_asking || deferred_count_.load(std::memory_order_acquire) != 0) return 1;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (!to_update_.empty()) return 1;  // the shard of one limit was busy
  }
  // A process that is still dying, or a shard that is still busy, cannot wait for the sweep.
  if (!suspects_.empty()) return kPatientMs;
  return options_.sweeps && !is_idle_.load() ? kSweepMs : -1;
}

void BackgroundWorker::TakeCommands() {
  std::vector<ProcessRef> to_watch;
  std::vector<RecordRef> to_review;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    to_watch.swap(to_watch_);
    to_review.swap(to_update_);
  }
  for (const RecordRef& record : to_review) {
    const Result<std::vector<ProcessRef>> blockers = Blockers(manager_, record, kWorkerTimeoutNs);
    if (blockers.ok()) {
      to_watch.insert(to_watch.end(), blockers->begin(), blockers->end());
      const std::lock_guard<std::mutex> guard(mutex_);
      holds_.Add(record, 0);  // the first check ends it if there is no hold limit
    } else if (blockers.status().code() == StatusCode::kBusy) {
      const std::lock_guard<std::mutex> guard(mutex_);
      to_update_.push_back(record);
    }
  }
  for (const ProcessRef process : to_watch) OpenLifeline(process);
}

// Opens the write end of a FIFO that the process has open for reading. It reports an error, and
// cannot be opened any more, once the process has ended.
void BackgroundWorker::OpenLifeline(ProcessRef process) {
  const bool is_known =
      process.generation == 0 || process == manager_.self() ||
      lifelines_.contains(process.ToWord()) ||
      std::any_of(suspects_.begin(), suspects_.end(),
                  [process](const Suspect& suspect) { return suspect.process == process; });
  if (is_known || HoldLifeline(process)) return;
  // The process has ended or has no lifeline yet, or this one has no descriptors left: ask the
  // kernel.
  suspects_.push_back({process});
}

bool BackgroundWorker::HoldLifeline(ProcessRef process) {
  Result<platform::PeerDoorbell> peer =
      platform::PeerDoorbell::Open(directory_, LifelineName(manager_.segment(), process));
  if (!peer.ok() || !watch_->Watch(peer->fd(), process.ToWord()).ok()) return false;
  lifelines_.emplace(process.ToWord(), std::move(*peer));
  SetWatched(process, process.generation);
  return true;
}

void BackgroundWorker::SetWatched(ProcessRef process, uint32_t generation) {
  if (process.slot >= watched_.size()) return;
  watched_[process.slot].store(generation, std::memory_order_relaxed);
}

// The dead process may have been reaping another one that no other process watched.
void BackgroundWorker::AskSuspects() {
  bool was_dead = false;
  std::erase_if(suspects_, [&](Suspect& suspect) {
    ++suspect.asked;
    if (manager_.host().IsAlive(suspect.process)) {
      // Only damage names it: there is no such process.
      if (!manager_.segment().IsNewest(suspect.process)) return true;
      // A process that has just started has a lifeline by now; that of a dying process is gone for
      // good.
      return HoldLifeline(suspect.process);
    }
    const StatusCode code =
        manager_.ReapProcess(suspect.process, kWorkerTimeoutNs, suspect.rest).code();
    was_dead = was_dead || code == StatusCode::kOk;
    return code != StatusCode::kBusy;
  });
  if (!was_dead) return;
  for (const ProcessRef process : FindDeadProcesses(kQuestions)) suspects_.push_back({process});
}

Status BackgroundWorker::CleanUp(ProcessRef process, uint64_t timeout_ns) {
  return manager_.ReapProcess(process, timeout_ns);
}

void BackgroundWorker::RunDeferred() {
  std::unique_lock<std::mutex> lock(mutex_);
  std::vector<uint32_t> shards;
  for (const auto& [shard, tasks] : deferred_) shards.push_back(shard);
  for (const uint32_t shard : shards) {
    while (deferred_.contains(shard) && !is_stopping_) {
      Deferred& front = deferred_[shard].front();
      running_owner_ = front.owner;
      const Task task = front.task;
      lock.unlock();
      const StatusCode code = task();
      lock.lock();
      const auto it = deferred_.find(shard);
      const bool is_there = it != deferred_.end() && it->second.front().owner == running_owner_;
      if (code != StatusCode::kBusy && is_there) {
        it->second.pop_front();
        deferred_count_.fetch_sub(1, std::memory_order_release);
        if (it->second.empty()) deferred_.erase(it);
      }
      running_owner_ = nullptr;
      task_done_.notify_all();
      if (code == StatusCode::kBusy) break;
    }
  }
}

// Expires one lock per visit, so that peers can use the shard in between.
void BackgroundWorker::EnforceHolds() {
  std::unique_lock<std::mutex> lock(mutex_);
  const uint64_t now_ns = platform::MonotonicNs();
  while (holds_.NextDueNs() <= now_ns && !is_stopping_) {
    HoldLimitTimers::Task task = holds_.First();
    lock.unlock();
    const Result<uint64_t> next_ns =
        EnforceHoldLimits(manager_, task.record, task.first_seen, kWorkerTimeoutNs);
    lock.lock();
    const bool is_busy = next_ns.status().code() == StatusCode::kBusy;
    holds_.Update(task, next_ns.ok() ? *next_ns : is_busy ? now_ns + kBusyNs : 0);
  }
}

// Finds dead processes that were not reaped. Continues where the last call ended.
std::vector<ProcessRef> BackgroundWorker::FindDeadProcesses(uint32_t max_questions) {
  std::vector<ProcessRef> dead;
  const segment::Segment& segment = manager_.segment();
  const uint32_t processes = segment.geometry().processes;
  const uint32_t first = next_slot_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < processes && max_questions > 0; ++i) {
    const uint32_t slot = (first + i) % processes;
    next_slot_.store(slot + 1, std::memory_order_relaxed);
    const segment::ProcessEntry& entry = segment.process(slot);
    const ProcessRef process{static_cast<uint16_t>(slot), entry.generation.Acquire()};
    if (process.generation == entry.cleaned_generation.Acquire()) continue;
    if (process == manager_.self()) continue;
    --max_questions;
    if (!manager_.host().IsAlive(process)) dead.push_back(process);
  }
  return dead;
}

// Watched processes come first: a lifeline may fail to report their death.
void BackgroundWorker::AskWatched(uint32_t max) {
  for (uint32_t i = 0; i < max && i < lifelines_.size(); ++i) {
    auto it = lifelines_.upper_bound(last_asked_);
    if (it == lifelines_.end()) it = lifelines_.begin();
    last_asked_ = it->first;
    const ProcessRef process = ProcessRef::FromWord(it->first);
    if (!manager_.host().IsAlive(process)) (void)CleanUp(process, kWorkerTimeoutNs);
  }
}

void BackgroundWorker::ReapDeadProcesses(uint32_t max) {
  for (const ProcessRef process : FindDeadProcesses(kQuestions)) {
    if (max-- == 0) return;
    (void)CleanUp(process, kWorkerTimeoutNs);
  }
}

// Finds what the mechanisms may have missed: deaths, and events without a wake-up.
void BackgroundWorker::Sweep() {
  next_sweep_ns_ = platform::MonotonicNs() + kSweepNs;
  const segment::Segment& segment = manager_.segment();
  AskWatched(kQuestionsPerSweep);
  for (const ProcessRef process : FindDeadProcesses(kQuestionsPerSweep)) {
    (void)CleanUp(process, kWorkerTimeoutNs);
  }
  for (uint32_t i = 0; i < segment.geometry().agents; ++i) {
    const segment::AgentRef agent = segment.AgentAt(i);
    if (agent.process == manager_.self() && segment::HasEvents(segment.agent(i))) {
      manager_.host().Ring(agent);
    }
  }
}

}  // namespace holdfast::core
