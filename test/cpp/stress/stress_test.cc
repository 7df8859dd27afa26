// The guarantees over the real platform: real processes that are killed, stopped and resumed.
#include "stress/stress.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "core/agent.h"
#include "segment/invariants.h"
#include "segment/lock_word.h"
#include "support/test_directory.h"

namespace holdfast::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kKills = 500;
constexpr uint64_t kGrants = 50'000;

uint64_t NumberFrom(const char* variable, uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::stoull(text);
}

// A fresh directory, and its content when it is not in use.
class StressTest : public testing::Test {
 protected:
  std::unique_ptr<core::Agent> OpenAgent(const std::string& bucket) const {
    core::AttachOptions options;
    options.directory = directory;
    options.bucket = bucket;
    options.capacity = segment::kMinCapacity;
    options.sweeps = false;
    Result<std::unique_ptr<core::Agent>> agent = core::Agent::Open(options, {1, 1});
    EXPECT_TRUE(agent.ok()) << agent.status().reason();
    return agent.ok() ? std::move(*agent) : nullptr;
  }

  // How many requests a bucket has room for.
  size_t CountRoom(const std::string& bucket) const {
    const std::unique_ptr<core::Agent> agent = OpenAgent(bucket);
    for (size_t count = 0;; ++count) {
      core::RequestParams request;
      const auto answer = agent->Request(segment::ResourceName(u"n", 1), request);
      if (answer.ok()) continue;
      EXPECT_EQ(answer.status().code(), StatusCode::kSegmentFull) << answer.status().reason();
      return count;
    }
  }

  uint64_t TakeToken(const std::string& bucket) const {
    const std::unique_ptr<core::Agent> agent = OpenAgent(bucket);
    core::RequestParams request;
    const auto answer = agent->Request(segment::ResourceName(u"n", 1), request);
    return answer.ok() ? answer->token : 0;
  }

  // The parts that are in use though no process uses anything.
  std::vector<std::string> FindWhatIsLeft(const std::string& bucket) const {
    const std::string path = directory + "/" + bucket;
    const UniqueFd file(open((path + "/segment").c_str(), O_RDWR | O_CLOEXEC));
    void* const base =
        mmap(nullptr, segment::kMinCapacity, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    if (base == MAP_FAILED) return {"the segment"};
    segment::Segment table(base, segment::Geometry::ForCapacity(segment::kMinCapacity));
    std::vector<std::string> left = segment::CheckInvariants(table);
    for (uint32_t i = 0; i < table.geometry().shards; ++i) {
      if (table.shard(i).used_count.Get() != 0)
        left.push_back("cells of shard " + std::to_string(i));
      if (segment::LockWord(table, i).IsLocked()) left.push_back("the lock of a shard");
    }
    for (uint32_t i = 0; i < table.geometry().agents; ++i) {
      if (table.agent(i).owner.Get() != 0) left.push_back("agent " + std::to_string(i));
    }
    for (uint32_t i = 0; i < table.geometry().processes; ++i) {
      const segment::ProcessEntry& entry = table.process(i);
      if (entry.generation.Get() != entry.cleaned_generation.Get()) {
        left.push_back("process " + std::to_string(i));
      }
    }
    munmap(base, segment::kMinCapacity);
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().filename() != "segment") left.push_back(entry.path().filename());
    }
    return left;
  }

  // The background thread of a newcomer cleans up after the dead that no process waited for, while
  // the newcomer stays.
  void ReceiveNewcomer(const std::string& bucket) const {
    const std::unique_ptr<core::Agent> alone = OpenAgent("fresh");
    const size_t own_parts = FindWhatIsLeft("fresh").size();
    const std::unique_ptr<core::Agent> newcomer = OpenAgent(bucket);
    while (FindWhatIsLeft(bucket).size() > own_parts) std::this_thread::yield();
  }

  const TestDirectory test_directory;
  const std::string& directory = test_directory.path();
};

// HOLDFAST_STRESS_KILLS=<count> and HOLDFAST_STRESS_GRANTS=<count> make it longer (`npm test
// -- soak`); HOLDFAST_SEED=<number> repeats the draws.
TEST_F(StressTest, NoRequestIsGrantedBesideAnotherOvertakenOrForgottenAndNothingIsLeft) {
  const uint64_t seed = NumberFrom("HOLDFAST_SEED", std::random_device{}());
  std::cout << "HOLDFAST_SEED=" << seed << std::endl;
  const size_t room = CountRoom("fresh");
  StressRun run(directory, seed);
  ASSERT_EQ(run.Run(NumberFrom("HOLDFAST_STRESS_KILLS", kKills),
                    NumberFrom("HOLDFAST_STRESS_GRANTS", kGrants)),
            "");
  const StressChecker& checker = run.checker();
  std::cout << run.kills() << " kills, " << run.stops() << " stops, " << checker.grants()
            << " grants, " << checker.steals() << " steals and " << checker.expiries()
            << " expiries seen, " << run.rounds() << " times quiet, after "
            << run.longest_quiet_ms() << " ms at most" << std::endl;
  EXPECT_GT(checker.steals(), 0U);
  EXPECT_GT(checker.expiries(), 0U);
  EXPECT_GT(checker.overtakes(), 0U);
  ReceiveNewcomer("stress");
  EXPECT_THAT(FindWhatIsLeft("stress"), IsEmpty());
  EXPECT_EQ(CountRoom("stress"), room);
  EXPECT_THAT(FindWhatIsLeft("stress"), IsEmpty());
  std::filesystem::remove_all(directory + "/stress");
  EXPECT_GT(TakeToken("stress"), checker.newest_token());
}

StressEntry Entry(uint32_t process, uint64_t ticket, uint64_t token, bool is_exclusive = true) {
  StressEntry entry;
  entry.process = process;
  entry.agent = process;
  entry.ticket = ticket;
  entry.token = token;
  entry.is_exclusive = is_exclusive;
  return entry;
}

using Log = std::vector<std::pair<StressEvent, StressEntry>>;

std::vector<std::string> Check(const Log& log) {
  StressChecker checker;
  for (const auto& [event, entry] : log) checker.Read(event, entry);
  checker.FinishRound();
  return checker.violations();
}

constexpr StressEvent kEnter = StressEvent::kEnter;
constexpr StressEvent kLeave = StressEvent::kLeave;

TEST(StressChecker, FindsTwoInside) {
  const StressEntry first = Entry(1, 1, 1);
  const StressEntry second = Entry(2, 2, 2);
  EXPECT_THAT(Check({{kEnter, first}, {kEnter, second}, {kLeave, first}, {kLeave, second}}),
              ElementsAre(HasSubstr("too many inside")));
}

TEST(StressChecker, FindsMoreThanALimitAllows) {
  StressEntry first = Entry(1, 1, 1, false);
  StressEntry second = Entry(2, 2, 2, false);
  second.limit = 1;
  EXPECT_THAT(Check({{kEnter, first}, {kEnter, second}, {kLeave, first}, {kLeave, second}}),
              ElementsAre(HasSubstr("too many inside")));
}

TEST(StressChecker, FindsAnOvertakenRequest) {
  const StressEntry first = Entry(1, 2, 1);
  const StressEntry second = Entry(2, 1, 2);
  EXPECT_THAT(Check({{kEnter, first}, {kLeave, first}, {kEnter, second}, {kLeave, second}}),
              ElementsAre(HasSubstr("overtaken")));
}

// A background request with the oldest ticket, after so many younger ones of a priority.
Log Overtaken(uint64_t times, Priority priority) {
  Log log;
  for (uint64_t i = 1; i <= times; ++i) {
    StressEntry younger = Entry(1, 1 + i, i);
    younger.priority = priority;
    log.insert(log.end(), {{kEnter, younger}, {kLeave, younger}});
  }
  StressEntry last = Entry(2, 1, times + 1);
  last.priority = Priority::kBackground;
  log.insert(log.end(), {{kEnter, last}, {kLeave, last}});
  return log;
}

TEST(StressChecker, FindsARequestThatIsOvertakenTooOften) {
  EXPECT_THAT(Check(Overtaken(16, Priority::kUserBlocking)), IsEmpty());
  EXPECT_THAT(Check(Overtaken(17, Priority::kUserVisible)),
              ElementsAre(HasSubstr("overtaken too often")));
  EXPECT_THAT(Check(Overtaken(1, Priority::kBackground)), ElementsAre(HasSubstr("overtaken")));
}

TEST(StressChecker, JudgesTheBoundOfARequestWhosePriorityHasRisen) {
  const auto overtaken = [](uint64_t times, bool has_fallen) {
    Log log = Overtaken(times, Priority::kBackground);
    for (auto it = log.end() - 2; it != log.end(); ++it) {
      it->second.has_changed = true;
      it->second.has_fallen = has_fallen;
    }
    return Check(log);
  };
  EXPECT_THAT(overtaken(16, false), IsEmpty());
  EXPECT_THAT(overtaken(17, false), ElementsAre(HasSubstr("overtaken too often")));
  EXPECT_THAT(overtaken(17, true), IsEmpty());
}

TEST(StressChecker, FindsATokenThatIsRepeated) {
  const StressEntry first = Entry(1, 1, 1);
  const StressEntry second = Entry(2, 2, 1);
  EXPECT_THAT(Check({{kEnter, first}, {kLeave, first}, {kEnter, second}, {kLeave, second}}),
              testing::Contains(HasSubstr("a token twice")));
}

TEST(StressChecker, FindsATokenThatFellFromOneRunToTheNext) {
  StressChecker checker;
  for (const uint64_t token : {5U, 4U}) {
    checker.Read(kEnter, Entry(1, token, token));
    checker.Read(kLeave, Entry(1, token, token));
    checker.FinishRound();
  }
  EXPECT_THAT(checker.violations(), ElementsAre(HasSubstr("a token that is not newer")));
}

TEST(StressChecker, FindsAHoldLimitThatCameTooEarly) {
  StressEntry first = Entry(1, 1, 1);
  first.hold_limit_ns = 100;
  StressEntry second = Entry(2, 2, 2);
  second.now_ns = 99;
  EXPECT_THAT(Check({{kEnter, first}, {kEnter, second}, {kLeave, first}, {kLeave, second}}),
              ElementsAre(HasSubstr("too many inside")));
}

TEST(StressChecker, AcceptsGrantsAfterADeathAnExpiryAndASteal) {
  const StressEntry dead = Entry(1, 1, 1);
  StressEntry expired = Entry(2, 2, 2);
  expired.hold_limit_ns = 100;
  StressEntry previous_holder = Entry(3, 3, 3);
  previous_holder.now_ns = 100;
  StressEntry stealer = Entry(4, 4, 4);
  stealer.steals = true;
  stealer.now_ns = 100;
  EXPECT_THAT(Check({{kEnter, dead},
                     {StressEvent::kDying, dead},
                     {kEnter, expired},
                     {kEnter, previous_holder},
                     {StressEvent::kStealBegins, stealer},
                     {kEnter, stealer},
                     {kLeave, stealer},
                     {kLeave, previous_holder},
                     {kLeave, expired}}),
              IsEmpty());
}

}  // namespace
}  // namespace holdfast::test
