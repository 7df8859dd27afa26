// The world around a lock table, made up: who lives, what time it is, whose doorbell was rung.
#ifndef HOLDFAST_TEST_SUPPORT_FAKE_HOST_H_
#define HOLDFAST_TEST_SUPPORT_FAKE_HOST_H_

#include <atomic>
#include <cerrno>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "segment/host.h"
#include "segment/segment.h"

namespace holdfast::test {

// From any thread. Time only passes during a sleep: a sleep takes exactly the given time.
class FakeHost : public segment::Host {
 public:
  explicit FakeHost(segment::Segment& segment) : segment_(segment) {}

  void Kill(segment::ProcessRef process) {
    const std::lock_guard<std::mutex> guard(mutex_);
    dead_.insert(process.ToWord());
  }
  // So many more allocations succeed.
  void AllowAllocations(int count) { allocations_left_ = count; }
  void PassTime(uint64_t ns) { now_ns_ += ns; }
  // From now on the caller is in another time namespace.
  void ChangeClock(uint32_t id) { clock_id_ = id; }
  // From now on the caller runs on this processor.
  void MoveTo(uint32_t cpu) { cpu_ = cpu; }
  // Whether rings succeed from now on.
  void AllowRings(bool are_allowed) { can_ring_ = are_allowed; }
  // Called in the middle of a pause, by who waits.
  void DuringPause(std::function<void()> action) { during_pause_ = std::move(action); }
  // Called in the middle of a sleep, by the sleeper.
  void DuringSleep(std::function<void()> action) { during_sleep_ = std::move(action); }

  bool WasRung(const segment::AgentRef& agent) const {
    for (const segment::AgentRef& rung : Rings()) {
      if (rung == agent) return true;
    }
    return false;
  }
  std::vector<segment::AgentRef> Rings() const {
    const std::lock_guard<std::mutex> guard(mutex_);
    return rings_;
  }
  void ForgetRings() {
    const std::lock_guard<std::mutex> guard(mutex_);
    rings_.clear();
  }
  // The agents whose files were removed while their entries were not free yet.
  const std::vector<segment::AgentRef>& removed_doorbells() const { return removed_doorbells_; }
  const std::vector<segment::ProcessRef>& removed_lifelines() const { return removed_lifelines_; }
  uint32_t sleeps() const { return sleeps_; }
  uint32_t wakes() const { return wakes_; }

  uint32_t times_checked(segment::ProcessRef process) const {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto found = times_checked_.find(process.ToWord());
    return found == times_checked_.end() ? 0 : found->second;
  }

  bool IsAlive(segment::ProcessRef process) override {
    const std::lock_guard<std::mutex> guard(mutex_);
    ++times_checked_[process.ToWord()];
    return segment_.IsNewest(process) && !dead_.contains(process.ToWord());
  }
  void FutexWait(std::atomic<uint32_t>*, uint32_t, uint64_t timeout_ns) override {
    ++sleeps_;
    now_ns_ += timeout_ns;
    if (during_sleep_) during_sleep_();
  }
  void FutexWake(std::atomic<uint32_t>*) override { ++wakes_; }
  uint32_t CurrentCpu() override { return cpu_; }
  void Pause() override {
    constexpr uint64_t kPauseNs = 50;
    now_ns_ += kPauseNs;
    if (during_pause_) during_pause_();
  }
  uint64_t MonotonicNs() override { return now_ns_; }
  uint32_t ClockId() override { return clock_id_; }
  uint64_t RealtimeMs() override { return now_ns_ / 1'000'000; }
  bool Ring(const segment::AgentRef& agent) override {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (!can_ring_) return false;
    rings_.push_back(agent);
    return true;
  }
  void RemoveDoorbell(const segment::AgentRef& agent) override {
    if (segment_.AgentAt(agent.index) == agent) removed_doorbells_.push_back(agent);
  }
  void RemoveLifeline(segment::ProcessRef process) override {
    const bool is_clean =
        segment_.process(process.slot).cleaned_generation.Get() == process.generation;
    if (!is_clean) removed_lifelines_.push_back(process);
  }
  Status Allocate(uint64_t, uint64_t) override {
    if (allocations_left_-- > 0) return Status();
    return Status(StatusCode::kNoSpace, "the file system of the test is full", ENOSPC);
  }

 private:
  segment::Segment& segment_;
  mutable std::mutex mutex_;
  std::set<uint64_t> dead_;
  std::map<uint64_t, uint32_t> times_checked_;
  std::vector<segment::AgentRef> rings_;
  std::atomic<bool> can_ring_{true};
  std::vector<segment::AgentRef> removed_doorbells_;
  std::vector<segment::ProcessRef> removed_lifelines_;
  std::function<void()> during_sleep_;
  std::function<void()> during_pause_;
  std::atomic<uint64_t> now_ns_{1'000'000'000};
  std::atomic<uint32_t> clock_id_{1};
  std::atomic<uint32_t> cpu_{1};
  std::atomic<uint32_t> sleeps_{0};
  std::atomic<uint32_t> wakes_{0};
  std::atomic<int> allocations_left_{1 << 30};
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SUPPORT_FAKE_HOST_H_
