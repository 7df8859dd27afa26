#include "core/peer_monitor.h"

#include <algorithm>
#include <utility>

#include "core/peer_doorbells.h"
#include "core/shard_timeouts.h"
#include "platform/clock.h"

namespace holdfast::core {

using segment::ProcessRef;

namespace {

// A suspect is checked this often at the short interval, then at the long one.
constexpr uint32_t kQuickChecks = 200;
constexpr uint64_t kQuickNs = kNsPerMs;
constexpr uint64_t kPatientNs = 100 * kNsPerMs;

}  // namespace

void PeerMonitor::Watch(ProcessRef process) {
  const std::lock_guard<std::mutex> guard(mutex_);
  // If no thread can be started, they wait for a thread.
  const bool is_noted = std::find(to_watch_.begin(), to_watch_.end(), process) != to_watch_.end();
  if (!is_noted) to_watch_.push_back(process);
}

void PeerMonitor::OnBrokenLifeline(uint64_t key) {
  const auto it = lifelines_.find(key);
  if (it == lifelines_.end()) return;
  const ProcessRef process = ProcessRef::FromWord(key);
  SetWatched(process, 0);
  death_watch_->Unwatch(it->second.fd());
  suspects_.push_back({process});
  lifelines_.erase(it);
}

void PeerMonitor::SuspectAll() {
  for (const auto& [key, peer] : lifelines_) {
    const ProcessRef process = ProcessRef::FromWord(key);
    SetWatched(process, 0);
    suspects_.push_back({process});
  }
  lifelines_.clear();
}

void PeerMonitor::Run(const std::atomic<bool>& is_stopping) {
  std::vector<ProcessRef> to_watch;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    to_watch.swap(to_watch_);
  }
  for (const ProcessRef process : to_watch) OpenLifeline(process);
  CheckSuspects(is_stopping);
}

uint64_t PeerMonitor::DueNs(uint64_t now_ns) {
  if (suspects_.empty()) return kNever;
  const bool has_new = std::any_of(suspects_.begin(), suspects_.end(),
                                   [](const Suspect& s) { return s.checks < kQuickChecks; });
  return now_ns + (has_new ? kQuickNs : kPatientNs);
}

// Opens the write end of a FIFO that the process has open for reading. It reports an error, and
// cannot be opened any more, once the process has ended.
void PeerMonitor::OpenLifeline(ProcessRef process) {
  const bool is_known =
      process.generation == 0 || process == lock_table_.self() ||
      lifelines_.contains(process.ToWord()) ||
      std::any_of(suspects_.begin(), suspects_.end(),
                  [process](const Suspect& suspect) { return suspect.process == process; });
  if (is_known || HoldLifeline(process)) return;
  // The process has ended or has no lifeline yet, or this one has no descriptors left: the
  // kernel decides.
  suspects_.push_back({process});
}

// One lifeline for each slot: a corrupted table could name any number of generations.
bool PeerMonitor::HoldLifeline(ProcessRef process) {
  if (!lock_table_.segment().IsNewest(process)) return false;
  if (lifelines_.contains(process.ToWord())) return true;
  Result<platform::PeerDoorbell> peer =
      platform::PeerDoorbell::Open(directory_, LifelineName(lock_table_.segment(), process));
  if (!peer.ok() || !death_watch_->Watch(peer->fd(), process.ToWord()).ok()) return false;
  const uint32_t previous = watched_[process.slot].load(std::memory_order_relaxed);
  OnBrokenLifeline(ProcessRef{process.slot, previous}.ToWord());
  lifelines_.emplace(process.ToWord(), std::move(*peer));
  SetWatched(process, process.generation);
  return true;
}

void PeerMonitor::SetWatched(ProcessRef process, uint32_t generation) {
  if (process.slot >= watched_.size()) return;
  watched_[process.slot].store(generation, std::memory_order_relaxed);
}

// The dead process may have been reaping another process, which no other process watched.
// When this process leaves the bucket, the other dead are left to peers: each process that waits
// for a dead one watches it, too.
void PeerMonitor::CheckSuspects(const std::atomic<bool>& is_stopping) {
  bool was_dead = false;
  std::vector<Suspect> suspects = std::exchange(suspects_, {});
  std::erase_if(suspects, [&](Suspect& suspect) {
    return !is_stopping.load() && IsSettled(suspect, was_dead);
  });
  suspects_.insert(suspects_.end(), suspects.begin(), suspects.end());
  if (!was_dead || is_stopping.load()) return;
  for (const ProcessRef process :
       dead_process_finder_.FindDeadProcesses(DeadProcessFinder::kMaxChecks)) {
    suspects_.push_back({process});
  }
}

// Whether the suspect needs no more checks. Sets `was_dead` if it was reaped.
bool PeerMonitor::IsSettled(Suspect& suspect, bool& was_dead) {
  ++suspect.checks;
  if (lock_table_.host().IsAlive(suspect.process)) {
    // Only corruption names it: there is no such process.
    if (!lock_table_.segment().IsNewest(suspect.process)) return true;
    // A process that has just started has a lifeline by now; a dying process has lost its lifeline
    // for good.
    return HoldLifeline(suspect.process);
  }
  const StatusCode code =
      lock_table_.Reap(suspect.process, kWorkerTimeoutNs, suspect.progress).code();
  was_dead = was_dead || code == StatusCode::kOk;
  return code != StatusCode::kBusy;
}

void PeerMonitor::CheckWatched(uint32_t max) {
  for (uint32_t i = 0; i < max && i < lifelines_.size(); ++i) {
    auto it = lifelines_.upper_bound(last_checked_);
    if (it == lifelines_.end()) it = lifelines_.begin();
    last_checked_ = it->first;
    const ProcessRef process = ProcessRef::FromWord(it->first);
    if (!lock_table_.host().IsAlive(process)) (void)lock_table_.Reap(process, kWorkerTimeoutNs);
  }
}

}  // namespace holdfast::core
