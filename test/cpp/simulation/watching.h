// The events that a watching program sees: they have to be the content of the watch ring, in its
// order. An unseen event has to be counted, and to have had a reason.
#ifndef HOLDFAST_TEST_SIMULATION_WATCHING_H_
#define HOLDFAST_TEST_SIMULATION_WATCHING_H_

#include <cstdint>
#include <optional>
#include <string>

#include "core/agent.h"
#include "simulation/lock_log.h"
#include "simulation/watch_record.h"
#include "simulation/world.h"

namespace holdfast::test {

class Watching {
 public:
  // Of one name, or of all.
  Watching(World& world, WatchRecord& record, const LockLog& log,
           std::optional<std::u16string> name);

  // In the thread of the agent.
  void Open(core::Agent& agent);
  void Read(core::Agent& agent, bool is_quiet);
  void Close(core::Agent& agent) { agent.CloseWatch(id_); }
  uint64_t next_read_ns() const { return next_read_ns_; }

  // From outside, once it has had the time to read everything.
  void CheckThatTheDeadHaveEnded();
  void CheckThatAllWasSeen();
  const std::string& fault() const { return fault_; }

 private:
  void See(const core::WatchedEvent& event);
  uint64_t Find(const core::WatchedEvent& event) const;
  void CheckPassedOver(uint64_t number, const core::WatchedEvent& event);
  bool IsOfInterest(const WatchRecord::Entry& entry) const {
    return !name_.has_value() || entry.name == *name_;
  }
  void Fail(const std::string& what, uint64_t number);

  World& world_;
  WatchRecord& record_;
  const LockLog& log_;
  const std::optional<std::u16string> name_;
  uint32_t id_ = 0;
  uint64_t next_read_ns_ = 0;
  uint64_t opened_at_ = 0;  // in the time of the log
  // The number that it has seen last; before that, where it may have begun.
  uint64_t at_least_ = 0;
  uint64_t max_ = 0;
  uint64_t opened_behind_ = 0;
  std::string fault_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SIMULATION_WATCHING_H_
