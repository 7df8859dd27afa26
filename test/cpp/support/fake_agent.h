// An agent as core/agent.h is one, without event loop, files and helper thread: it keeps a mirror
// of its requests and learns of grants and steals from its events alone.
#ifndef HOLDFAST_TEST_SUPPORT_FAKE_AGENT_H_
#define HOLDFAST_TEST_SUPPORT_FAKE_AGENT_H_

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "core/hold_limits.h"
#include "core/lock_table.h"
#include "platform/result.h"
#include "support/fake_machine.h"

namespace holdfast::test {

struct Options {
  LockMode mode = LockMode::kExclusive;
  uint32_t max_pending = core::kAnyNumber;
  bool steal = false;
  uint32_t limit = 0;
  uint64_t hold_limit_ns = 0;
  std::u16string_view label{};
  uint64_t enclosing_token = 0;
  Priority priority = Priority::kUserVisible;
};
inline constexpr Options kExclusive{};
inline constexpr Options kShared{.mode = LockMode::kShared};
inline constexpr Options kIfAvailable{.max_pending = 0};
inline constexpr Options kSharedIfAvailable{.mode = LockMode::kShared, .max_pending = 0};
inline constexpr Options kSteal{.steal = true};
// At most `limit` holders with it.
constexpr Options Limited(uint32_t limit) { return {.mode = LockMode::kShared, .limit = limit}; }
constexpr Options HeldFor(uint64_t ns) { return {.hold_limit_ns = ns}; }
constexpr Options With(Priority priority, Options options = {}) {
  options.priority = priority;
  return options;
}
inline constexpr Options kUrgent = With(Priority::kUserBlocking);
inline constexpr Options kBackground = With(Priority::kBackground);
// Inside the callback of a lock.
constexpr Options Inside(uint64_t token) { return {.enclosing_token = token}; }
inline constexpr Options kLabelled{.label = u"its purpose"};

inline constexpr uint64_t kShardTimeoutNs = 10'000'000;

class FakeAgent {
 public:
  struct Mine {
    core::RecordRef record;
    bool is_held = false;
    uint64_t token = 0;
    segment::Contention contention = segment::Contention::kUnwatched;  // as it was notified
    core::FirstSeenTimes first_seen{};
  };

  FakeAgent(FakeMachine& machine, segment::ProcessRef process, uint16_t index)
      : machine_(&machine), host_(&machine.host()), self_(machine.AddAgent(process, index)) {}

  // The same agent on a copy of the machine.
  FakeAgent(FakeMachine& machine, const FakeAgent& other)
      : machine_(&machine),
        host_(&machine.host()),
        self_(other.self_),
        mine_(other.mine_),
        biased_(other.biased_),
        sleep_(other.sleep_),
        timeout_ns_(other.timeout_ns_) {}

  // Made-up time passes fast where threads wait for each other: from now on it is no reason to give
  // up.
  void BePatient() { timeout_ns_ = UINT64_MAX / 2; }
  // Another world than the machine's own.
  void Use(segment::Host& host) { host_ = &host; }

  const segment::AgentRef& ref() const { return self_; }
  core::LockTable lock_table() const { return {machine_->segment(), *host_, self_.process}; }

  // `id`: unique on the machine, rising.
  Result<core::RequestReply> Request(uint32_t id, std::u16string_view name,
                                     const Options& options) {
    const core::RequestParams request{.request_id = id,
                                      .mode = options.mode,
                                      .max_pending = options.max_pending,
                                      .steal = options.steal,
                                      .priority = options.priority,
                                      .limit = options.limit,
                                      .hold_limit_ns = options.hold_limit_ns,
                                      .label = options.label,
                                      .enclosing_token = options.enclosing_token};
    Result<core::RequestReply> reply =
        lock_table().Request(self_, NameOf(name), request, timeout_ns_);
    if (reply.ok() && reply->outcome != core::RequestOutcome::kMissed) {
      const bool is_held = reply->outcome == core::RequestOutcome::kGranted;
      mine_[id] = {.record = reply->record, .is_held = is_held, .token = reply->token};
    }
    return reply;
  }

  Status ChangePriority(uint32_t id, Priority priority) {
    return lock_table().ChangePriority(mine_.at(id).record, priority, timeout_ns_);
  }

  // The highest priority that waits for the lock; later events change `contention`.
  segment::Contention WatchContention(uint32_t id) {
    Mine& mine = mine_.at(id);
    const Result<segment::Contention> highest =
        lock_table().WatchContention(mine.record, false, timeout_ns_);
    if (highest.ok()) mine.contention = *highest;
    return highest.ok() ? *highest : segment::Contention::kNone;
  }
  // Whether the record of a held lock says that this agent is notified of a priority that waits,
  // and it is not.
  bool MissesContention() const;

  // Releases, or takes back.
  Status End(uint32_t id) {
    const auto it = mine_.find(id);
    if (it == mine_.end()) return Status();
    const core::RecordRef record = it->second.record;
    mine_.erase(it);
    biased_.erase(id);
    return lock_table().End(record, timeout_ns_).status();
  }

  // Releases a held lock, and keeps its record if it may: then it is among biased().
  bool EndOrBias(uint32_t id);
  // The short way, as JavaScript does it: request `id` again. False: the record was closed.
  bool AcquireBiased(uint32_t id, LockMode mode = LockMode::kExclusive);
  // By the short way, or as usual if the record was closed. False: it was.
  bool ReleaseBiased(uint32_t id);
  // Ends the record of a biased lock, whether it was closed or not.
  void FreeBiased(uint32_t id);
  const std::map<uint32_t, core::RecordRef>& biased() const { return biased_; }
  segment::RequestCell& RecordOf(const core::RecordRef& record) const;

  // As this process's background worker does. Returns the time of the next check.
  uint64_t EnforceHoldLimits(uint32_t id) {
    core::LockTable looker = lock_table();
    const Result<uint64_t> next = core::EnforceHoldLimits(looker, mine_.at(id).record,
                                                          mine_.at(id).first_seen, kShardTimeoutNs);
    return next.ok() ? *next : 0;
  }

  // Returns what went wrong, if anything did.
  Status TakeEvents();
  void FallAsleep() { machine_->segment().agent(self_.index).sleeping.Exchange(++sleep_); }
  bool HasEvents() const;

  // The requests that this agent believes to wait or to hold.
  const std::map<uint32_t, Mine>& mine() const { return mine_; }
  bool Holds(uint32_t id) const { return mine_.contains(id) && mine_.at(id).is_held; }
  bool WaitsFor(uint32_t id) const { return mine_.contains(id) && !mine_.at(id).is_held; }

 private:
  Status Read(const core::RecordEvent& events);

  FakeMachine* machine_;
  segment::Host* host_;
  segment::AgentRef self_;
  std::map<uint32_t, Mine> mine_;
  std::map<uint32_t, core::RecordRef> biased_;  // also while they are taken
  uint32_t sleep_ = 0;
  uint64_t timeout_ns_ = kShardTimeoutNs;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_SUPPORT_FAKE_AGENT_H_
