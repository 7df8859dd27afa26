// Threads as agents of one process and of several, all over one mapping. Meant for ThreadSanitizer
// as well.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "platform/futex.h"
#include "segment/invariants.h"
#include "support/fake_agent.h"

namespace holdfast::test {
namespace {

constexpr uint16_t kThreads = 6;
constexpr int kThreadRounds = 3000;
constexpr segment::Geometry::Counts kThreadGeometry{.shards = 2,
                                                    .processes = 4,
                                                    .agents = kThreads,
                                                    .buckets_per_shard = 2,
                                                    .extent_bytes = 1024,
                                                    .extents = 32};
const std::array<std::u16string, 3> kThreadNames = {u"n", u"m", std::u16string(100, u'l')};

// The word that one thread sleeps on.
class Doorbell {
 public:
  void Ring() {
    const std::lock_guard<std::mutex> guard(mutex_);
    is_rung_ = true;
    condition_.notify_one();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    condition_.wait(lock, [this] { return is_rung_; });
    is_rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable condition_;
  bool is_rung_ = false;
};

// Doorbells that wake threads, real sleep and real time.
class RealTime final : public segment::Host {
 public:
  bool IsAlive(segment::ProcessRef) override { return true; }
  void FutexWait(std::atomic<uint32_t>* word, uint32_t expected, uint64_t timeout_ns) override {
    platform::FutexWait(word, expected, timeout_ns);
  }
  void FutexWake(std::atomic<uint32_t>* word) override { platform::FutexWake(word, 1); }
  uint64_t MonotonicNs() override {
    return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  }
  uint32_t CurrentCpu() override { return 0; }
  void Pause() override {}
  uint32_t ClockId() override { return 1; }
  uint64_t RealtimeMs() override { return MonotonicNs() / 1'000'000; }
  bool Ring(const segment::AgentRef& agent) override {
    doorbells[agent.index].Ring();
    return true;
  }
  void RemoveDoorbell(const segment::AgentRef&) override {}
  void RemoveLifeline(segment::ProcessRef) override {}
  Status Allocate(uint64_t, uint64_t) override { return Status(); }

  std::array<Doorbell, kThreads> doorbells;
};

// The number of threads inside a lock, counted by the holders. Relaxed: only the lock itself may
// order what its holders do, or ThreadSanitizer would see nothing.
struct Holders {
  static constexpr auto kRelaxed = std::memory_order_relaxed;
  std::atomic<int> exclusive{0};
  std::atomic<int> shared{0};
};

class Threads : public testing::Test {
 protected:
  // One thread per agent, over so many processes; each runs `body(agent, random)`.
  template <typename Body>
  void Run(uint16_t processes, Body body) {
    std::vector<segment::ProcessRef> attached;
    for (uint16_t slot = 0; slot < processes; ++slot) attached.push_back(machine.Attach(slot));
    std::vector<std::unique_ptr<FakeAgent>> agents;
    for (uint16_t i = 0; i < kThreads; ++i) {
      agents.push_back(std::make_unique<FakeAgent>(machine, attached[i % processes], i));
      agents.back()->Use(host);
      agents.back()->BePatient();  // the system may take a thread off its processor inside a shard
    }
    std::barrier start(kThreads);
    std::vector<std::thread> threads;
    for (uint16_t i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        std::mt19937 random(i);
        start.arrive_and_wait();
        body(*agents[i], random);
      });
    }
    for (std::thread& thread : threads) thread.join();
    // The last grants and steals may still be unread.
    for (const auto& agent : agents) EXPECT_TRUE(agent->TakeEvents().ok());
    for (const auto& agent : agents) EXPECT_TRUE(agent->mine().empty());
    EXPECT_THAT(segment::CheckInvariants(machine.segment()), testing::IsEmpty());
    for (uint32_t shard = 0; shard < kThreadGeometry.shards; ++shard) {
      EXPECT_EQ(machine.segment().shard(shard).used_count.Get(), 0U);
    }
  }

  // Sleeps until `id` no longer waits: granted (true), or lost since. Without a wake-up it hangs.
  bool SpinFor(FakeAgent& agent, uint32_t id) {
    for (;;) {
      EXPECT_TRUE(agent.TakeEvents().ok());
      if (!agent.WaitsFor(id)) return agent.Holds(id);
      agent.FallAsleep();
      if (!agent.HasEvents()) host.doorbells[agent.ref().index].Wait();
    }
  }

  static uint32_t Request(FakeAgent& agent, uint32_t number, const std::u16string& name,
                          const Options& options) {
    const uint32_t id = agent.ref().index * 1'000'000U + number;
    const Result<core::RequestReply> reply = agent.Request(id, name, options);
    EXPECT_TRUE(reply.ok()) << reply.status().reason();
    return id;
  }

  void LockInTurn(uint16_t processes) {
    std::array<Holders, kThreadNames.size()> inside;
    std::array<uint64_t, kThreadNames.size()> written{};
    Run(processes, [&](FakeAgent& agent, std::mt19937& random) {
      for (int round = 0; round < kThreadRounds; ++round) {
        const size_t name = random() % kThreadNames.size();
        const bool is_shared = random() % 3 == 0;
        const uint32_t id = Request(agent, static_cast<uint32_t>(round), kThreadNames[name],
                                    is_shared ? kShared : kExclusive);
        if (random() % 5 == 0) {
          ASSERT_TRUE(agent.End(id).ok());  // in whatever state it is
          continue;
        }
        ASSERT_TRUE(SpinFor(agent, id));
        Holders& counts = inside[name];
        if (is_shared) {
          counts.shared.fetch_add(1, Holders::kRelaxed);
          std::this_thread::yield();  // the others find it held
          EXPECT_EQ(counts.exclusive.load(Holders::kRelaxed), 0);
          counts.shared.fetch_sub(1, Holders::kRelaxed);
        } else {
          EXPECT_EQ(counts.exclusive.fetch_add(1, Holders::kRelaxed), 0);
          EXPECT_EQ(counts.shared.load(Holders::kRelaxed), 0);
          std::this_thread::yield();
          ++written[name];
          counts.exclusive.fetch_sub(1, Holders::kRelaxed);
        }
        ASSERT_TRUE(agent.End(id).ok());
      }
    });
  }

  FakeMachine machine{kThreadGeometry};
  RealTime host;
};

TEST_F(Threads, OfOneProcessExcludeEachOtherAndMissNoWakeUp) { LockInTurn(1); }

TEST_F(Threads, OfSeveralProcessesExcludeEachOtherAndMissNoWakeUp) { LockInTurn(4); }

TEST_F(Threads, ThatStealLoseNothingButTheirLocks) {
  Run(3, [&](FakeAgent& agent, std::mt19937& random) {
    for (int round = 0; round < kThreadRounds; ++round) {
      const Options options = random() % 3 == 0 ? kSteal : random() % 2 == 0 ? kShared : kExclusive;
      const uint32_t id = Request(agent, static_cast<uint32_t>(round),
                                  kThreadNames[random() % kThreadNames.size()], options);
      if (SpinFor(agent, id)) std::this_thread::yield();
      ASSERT_TRUE(agent.End(id).ok());
    }
  });
}

TEST_F(Threads, ThatQueueManyRequestsAtOnceAreGrantedAllOfThem) {
  Run(2, [&](FakeAgent& agent, std::mt19937& random) {
    constexpr uint32_t kBatch = 10;
    for (uint32_t round = 0; round < 300; ++round) {
      for (uint32_t i = 0; i < kBatch; ++i) {
        Request(agent, round * kBatch + i, kThreadNames[random() % 2], kExclusive);
      }
      while (!agent.mine().empty()) {
        for (const auto& [id, mine] : std::map(agent.mine())) {
          if (!mine.is_held) continue;
          ASSERT_TRUE(agent.End(id).ok());
        }
        ASSERT_TRUE(agent.TakeEvents().ok());
        const bool holds = std::any_of(agent.mine().begin(), agent.mine().end(),
                                       [](const auto& entry) { return entry.second.is_held; });
        if (holds || agent.mine().empty()) continue;
        agent.FallAsleep();
        if (!agent.HasEvents()) host.doorbells[agent.ref().index].Wait();
      }
    }
  });
}

}  // namespace
}  // namespace holdfast::test
