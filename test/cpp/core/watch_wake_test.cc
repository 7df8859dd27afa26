// Watchers that sleep are rung for events, once each time that they arm (watch_ring.h).
#include "core/agent_watches.h"
#include "segment/watch_ring.h"
#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

class WatchWake : public LockTableTest {
 protected:
  void SetUp() override {
    watchers.Add(c.ref());
    c.FallAsleep();
  }
  bool WasRung(const FakeAgent& agent) { return machine.host().WasRung(agent.ref()); }

  segment::WatchRegistry watchers{machine.segment()};
};

TEST_F(WatchWake, RingsAWatcherThatIsArmed) {
  watchers.Arm(c.ref());
  Request(a, u"n");
  EXPECT_TRUE(WasRung(c));
  EXPECT_FALSE(watchers.IsArmed(c.ref()));
}

TEST_F(WatchWake, RingsNoAgentThatIsNotArmed) {
  Request(a, u"n");
  EXPECT_FALSE(WasRung(c));
}

TEST_F(WatchWake, RingsOnceForEachTimeThatItArms) {
  watchers.Arm(c.ref());
  Request(a, u"n");
  machine.host().ForgetRings();
  c.FallAsleep();
  Request(a, u"m");
  EXPECT_FALSE(WasRung(c));
}

TEST_F(WatchWake, RingsAllThatAreArmed) {
  watchers.Add(b.ref());
  b.FallAsleep();
  watchers.Arm(c.ref());
  watchers.Arm(b.ref());
  watchers.Arm(c.ref());
  Request(a, u"n");
  EXPECT_TRUE(WasRung(b));
  EXPECT_TRUE(WasRung(c));
}

TEST_F(WatchWake, ShowsAnAwakeWatcherThatThereIsAnEvent) {
  machine.segment().agent(c.ref().index).sleeping.Exchange(0);
  watchers.Arm(c.ref());
  Request(a, u"n");
  EXPECT_FALSE(WasRung(c));
  EXPECT_FALSE(watchers.IsArmed(c.ref()));
}

TEST_F(WatchWake, RingsForTheEndOfALock) {
  const uint32_t id = IdOf(a, u"n");
  watchers.Arm(c.ref());
  ASSERT_TRUE(a.End(id).ok());
  EXPECT_TRUE(WasRung(c));
}

// The event, or the ring, that it did not live to make is made by who cleans up after it.
TEST_F(WatchWake, RingsForADeathBetweenTheEventAndTheRing) {
  Request(a, u"n");
  watchers.Arm(c.ref());
  (void)watchers.TakeArmed();  // by a, which dies now
  machine.Kill(p);
  core::LockTable lock_table = b.lock_table();
  ASSERT_TRUE(lock_table.Reap(p, kShardTimeoutNs).ok());
  EXPECT_TRUE(WasRung(c));
}

TEST_F(WatchWake, PassesOverACorruptedWord) {
  machine.segment().header().watch_armed.Set(0x12345678);
  Request(a, u"n");
  EXPECT_FALSE(WasRung(c));
}

TEST_F(WatchWake, SaysThatAnEntryIsBeingWritten) {
  core::WatchRingReader reader(machine.segment(), std::nullopt);
  EXPECT_FALSE(reader.IsBehind());
  const segment::WatchRingWriter begun(segment::ShardView(machine.segment(), 0), false);
  EXPECT_TRUE(reader.IsBehind());
}

}  // namespace
}  // namespace holdfast::test
