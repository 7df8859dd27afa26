// A random history of requests, releases, steals, ends and deaths on a small machine, compared with
// the reference model after every step.
#ifndef HOLDFAST_TEST_CORE_RANDOM_HISTORY_H_
#define HOLDFAST_TEST_CORE_RANDOM_HISTORY_H_

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "support/fake_agent.h"
#include "support/reference_model.h"

namespace holdfast::test {

class RandomHistory {
 public:
  explicit RandomHistory(uint64_t seed);

  // Makes so many steps; what went wrong first, or nothing.
  std::string Run(int steps);
  // How many biased locks were taken.
  uint64_t takes() const { return takes_; }

 private:
  // An agent, and what is known of its sleep.
  struct Client {
    FakeAgent agent;
    bool is_woken = false;  // was rung, and has not taken its events yet
    std::map<uint32_t, std::u16string> biased_names{};  // by request
  };

  void Fail(const std::string& what) {
    if (fault_.empty()) fault_ = what;
  }
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  Client& AnyClient() { return *clients_[Below(static_cast<uint32_t>(clients_.size()))]; }

  void Step();
  void Populate();
  void Operate(Client& client);
  void Request(Client& client);
  Options AnyOptions();
  void EnforceHoldLimits(Client& client);
  const ReferenceModel::Resource* ResourceOf(uint32_t id) const;
  uint64_t DueNs(uint32_t id) const;
  void EnterDirtyShards();
  void NoteGrants();
  void EndOne(Client& client);
  void WatchContention(Client& client);
  void ChangePriority(Client& client);
  void EndOrBias(Client& client, uint32_t id);
  void UseBiased(Client& client);
  void EndAgent(Client& client);
  void TakeEvents(Client& client);
  void CompareSnapshot(Client& client);
  void Repair(Client& client);
  void KillBetweenOperations(Client& client);
  void KillInsideAnOperation(Client& client);
  void CleanUp(segment::ProcessRef dead);
  ReferenceModel Without(ReferenceModel model, segment::ProcessRef dead) const;
  void WakeTheRung(const std::vector<segment::AgentRef>& rings);
  void CheckEverything();
  bool KnowsTheTruth(const Client& client) const;

  std::mt19937_64 random_;
  FakeMachine machine_;
  ReferenceModel model_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<segment::ProcessRef> processes_;
  std::map<uint32_t, uint64_t> hold_limit_ns_;
  std::map<uint32_t, uint64_t> granted_ns_;  // of what is held
  uint32_t last_id_ = 0;
  uint64_t takes_ = 0;
  std::string fault_;
};

}  // namespace holdfast::test

#endif  // HOLDFAST_TEST_CORE_RANDOM_HISTORY_H_
