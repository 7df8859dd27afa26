// An agent as core/agent.h is one, without event loop, files and helper thread: it keeps a mirror
// of its requests and learns of grants and thefts from its news alone.
#ifndef HOLDFAST_TEST_SUPPORT_FAKE_AGENT_H_
#define HOLDFAST_TEST_SUPPORT_FAKE_AGENT_H_

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "core/lock_manager.h"
#include "platform/result.h"
#include "support/fake_machine.h"

namespace holdfast::test {

struct Options {
  LockMode mode = LockMode::kExclusive;
  bool if_available = false;
  bool steal = false;
};
inline constexpr Options kExclusive{};
inline constexpr Options kShared{.mode = LockMode::kShared};
inline constexpr Options kIfAvailable{.if_available = true};
inline constexpr Options kSharedIfAvailable{.mode = LockMode::kShared, .if_available = true};
inline constexpr Options kSteal{.steal = true};

inline constexpr uint64_t kBudgetNs = 10'000'000;

class FakeAgent {
 public:
  struct Mine {
    core::RecordRef record;
    bool is_held = false;
    uint64_t token = 0;
  };

  FakeAgent(FakeMachine& machine, segment::ProcessRef process, uint16_t index)
      : machine_(&machine),
        environment_(&machine.environment()),
        self_(machine.AddAgent(process, index)) {}

  // The same agent on a copy of the machine.
  FakeAgent(FakeMachine& machine, const FakeAgent& other)
      : machine_(&machine),
        environment_(&machine.environment()),
        self_(other.self_),
        mine_(other.mine_),
        sleep_(other.sleep_) {}

  // Another world than the machine's own.
  void Use(segment::Environment& environment) { environment_ = &environment; }

  const segment::AgentRef& ref() const { return self_; }
  core::LockManager manager() const { return {machine_->segment(), *environment_, self_.process}; }

  // `id`: unique on the machine, rising.
  Result<core::Placement> Request(uint32_t id, std::u16string_view name, const Options& options) {
    Result<core::Placement> placement = manager().Request(
        self_, NameOf(name), {id, options.mode, options.if_available, options.steal}, kBudgetNs);
    if (placement.ok() && placement->outcome != core::RequestOutcome::kMissed) {
      const bool is_held = placement->outcome == core::RequestOutcome::kGranted;
      mine_[id] = {placement->record, is_held, placement->token};
    }
    return placement;
  }

  // Releases, or takes back.
  Status End(uint32_t id) {
    const auto it = mine_.find(id);
    if (it == mine_.end()) return Status();
    const core::RecordRef record = it->second.record;
    mine_.erase(it);
    return manager().End(record, kBudgetNs).status();
  }

  // Returns what went wrong, if anything did.
  Status TakeNews();
  void FallAsleep() { machine_->segment().agent(self_.index).sleeping.Exchange(++sleep_); }
  bool HasNews() const;

  // What this agent believes to wait for or to hold.
  const std::map<uint32_t, Mine>& mine() const { return mine_; }
  bool Holds(uint32_t id) const { return mine_.contains(id) && mine_.at(id).is_held; }
  bool WaitsFor(uint32_t id) const { return mine_.contains(id) && !mine_.at(id).is_held; }

 private:
  Status Read(const core::RecordNews& news);

  FakeMachine* machine_;
  segment::Environment* environment_;
  segment::AgentRef self_;
  std::map<uint32_t, Mine> mine_;
  uint32_t sleep_ = 0;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SUPPORT_FAKE_AGENT_H_
