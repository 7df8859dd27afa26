// A thread with an event loop that uses locks, as the addon's binding does it: events in front of
// the sleep and behind it, the doorbell only while it sleeps.
#ifndef HOLDFAST_TEST_SIMULATION_PROGRAM_H_
#define HOLDFAST_TEST_SIMULATION_PROGRAM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/agent.h"
#include "simulation/lock_log.h"
#include "simulation/watch_record.h"
#include "simulation/watching.h"
#include "simulation/world.h"

namespace holdfast::test {

inline constexpr uint32_t kSimulatedNames = 3;
std::u16string SimulatedName(uint32_t number);

struct Habits {
  uint32_t requests = 8;  // so many it makes in its life
  bool steals = false;    // now and then
  bool has_priorities = false;
  bool watches = false;       // for a while
  bool keeps = false;         // the records of what it releases, as JavaScript does
  uint64_t hold_ns = 20'000;  // up to so long
  uint64_t rest_ns = 20'000;  // up to so long between two things that it does
};

class Program final : private core::BiasObserver {
 public:
  Program(World& world, SimProcess& process, LockLog& log, WatchRecord& watch_ring,
          const Habits& habits);

  SimProcess& process() { return process_; }
  // The body of its thread.
  void Run();

  // From outside.
  // Nothing new from now on; what is held will be released.
  void BeQuiet();
  // Asks for every name once, and gives it back; only when idle and quiet.
  void Probe();
  // Null: it does not watch.
  Watching* watching() { return watching_.get(); }
  void Leave();
  bool is_attached() const { return agent_ != nullptr; }
  bool is_done() const { return is_done_; }
  bool is_idle() const { return mine_.empty(); }
  std::string WhatItWaitsFor() const;
  // The first fault that the program has seen, or nothing.
  const std::string& fault() const { return fault_; }
  // How often it took a biased lock.
  uint64_t takes() const { return takes_; }

 private:
  struct Mine {
    LockLog::Number number = 0;
    bool is_held = false;
    uint64_t until_ns = 0;  // when it is released, or taken back
    bool is_leaving = false;
    uint32_t name = 0;
    bool is_watching = false;  // holds until another request waits
    // The highest priority that waits, as it was notified.
    segment::Contention contention = segment::Contention::kUnwatched;
  };
  struct BiasedLock {
    uint32_t id = 0;
    uint32_t slot = 0;
  };

  void Turn();
  void Sleep();
  void Work();
  void Watch();
  void ChangePriority();
  void Request();
  void RequestName(uint32_t name, core::RequestParams request);
  void CheckContention(uint32_t id);
  void EndWhatIsDue();
  bool AcquireBiased(uint32_t name, const core::RequestParams& request, LockLog::Number number);
  bool ReleaseBiased(uint32_t id);
  core::Loss Release(uint32_t id, const Mine& mine);
  void OnBiasedSlotFreed(uint32_t slot) override;
  void Hold(uint32_t id, Mine& mine, uint64_t token);
  void End(uint32_t id);
  void Deliver();
  void Read(const core::RequestEvent& events);
  uint64_t NextTimer() const;
  void Fail(const std::string& what) {
    if (fault_.empty() && !world_.IsGhost()) fault_ = what;
  }

  World& world_;
  SimProcess& process_;
  LockLog& log_;
  WatchRecord& watch_ring_;
  Habits habits_;
  std::unique_ptr<core::Agent> agent_;
  std::shared_ptr<Fifo> doorbell_;
  std::map<uint32_t, Mine> mine_;          // by the agent's number
  std::map<uint32_t, BiasedLock> biased_;  // by name, also while it is taken
  uint64_t takes_ = 0;
  std::vector<core::RequestEvent> events_;
  std::unique_ptr<Watching> watching_;
  uint64_t watches_until_ns_ = 0;  // once all is quiet
  bool is_to_probe_ = false;
  uint64_t next_request_ns_ = 0;
  bool is_quiet_ = false;
  bool is_leaving_ = false;
  bool is_done_ = false;
  std::string fault_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SIMULATION_PROGRAM_H_
