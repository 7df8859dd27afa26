#include <string>
#include <vector>

#include "core/agent_watches.h"
#include "segment/watch_ring.h"
#include "support/lock_table_test.h"

namespace holdfast::test {
namespace {

using core::WatchedEvent;
using core::WatchRingReader;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr uint64_t kPatienceNs = 100'000'000;

const char* TypeName(const WatchedEvent& event) {
  static const char* const names[] = {"lost",     "queued", "granted", "released", "aborted",
                                      "timedout", "stolen", "expired", "died"};
  return names[event.entry.type];
}

class Watching : public LockTableTest {
 protected:
  Watching() { watchers.Add(c.ref()); }

  std::vector<std::string> Read(WatchRingReader& reader, uint64_t now_ns = 1) {
    std::vector<std::string> events;
    while (const auto event = reader.Next(now_ns)) {
      std::string text = TypeName(*event);
      text += " ";
      for (const char16_t unit : event->name.substr(0, 4)) text += static_cast<char>(unit);
      if (event->lost != 0) text += " after " + std::to_string(event->lost);
      events.push_back(text);
    }
    return events;
  }
  bool IsWatched() const { return (machine.segment().shard(0).watched.Get() & 1) != 0; }
  void TakeNumber() {
    const segment::WatchRingWriter note(segment::ShardView(machine.segment(), 0), false);
  }

  segment::WatchRegistry watchers{machine.segment()};
  WatchRingReader all{machine.segment(), std::nullopt};
};

TEST_F(Watching, SeesWhatHappensInItsOrder) {
  const uint32_t holder = IdOf(a, u"n");
  const uint32_t waiting = IdOf(b, u"n");
  ASSERT_TRUE(a.End(holder).ok());
  ASSERT_TRUE(b.End(waiting).ok());
  EXPECT_THAT(Read(all),
              ElementsAre("granted n", "queued n", "released n", "granted n", "released n"));
}

TEST_F(Watching, DistinguishesTheEndsOfAWait) {
  Request(a, u"n");
  const core::RecordRef aborted = Request(b, u"n").record;
  const core::RecordRef timed_out = Request(b, u"n").record;
  (void)Read(all);
  ASSERT_TRUE(b.lock_table().End(aborted, kShardTimeoutNs).ok());
  ASSERT_TRUE(b.lock_table().End(timed_out, kShardTimeoutNs, core::EndReason::kTimedOut).ok());
  EXPECT_THAT(Read(all), ElementsAre("aborted n", "timedout n"));
}

TEST_F(Watching, SeesAStealBeforeTheGrantToTheStealer) {
  Request(a, u"n", kShared);
  Request(b, u"n", kShared);
  (void)Read(all);
  Request(c, u"n", kSteal);
  EXPECT_THAT(Read(all), ElementsAre("stolen n", "stolen n", "granted n"));
}

TEST_F(Watching, SeesAnExpiryThatAnyAgentNotices) {
  const uint32_t first = IdOf(a, u"n", HeldFor(1000));
  const uint32_t second = IdOf(b, u"n", HeldFor(1000));
  (void)Read(all);
  machine.host().PassTime(2000);
  (void)a.EnforceHoldLimits(first);
  EXPECT_THAT(Read(all), ElementsAre("expired n", "granted n"));
  machine.host().PassTime(2000);
  ASSERT_TRUE(b.End(second).ok());
  EXPECT_THAT(Read(all), ElementsAre("expired n"));
}

TEST_F(Watching, SeesTheDeathOfWhoHoldsAndOfWhoWaits) {
  Request(a, u"n");
  Request(b, u"n");
  Request(a2, u"n");
  (void)Read(all);
  machine.Kill(p);
  ASSERT_TRUE(b.lock_table().Reap(p, kShardTimeoutNs).ok());
  EXPECT_THAT(Read(all), ElementsAre("died n", "granted n", "died n"));
}

TEST_F(Watching, SeesTheDeathOfWhoHoldsWhereARepairFindsIt) {
  Request(a, u"n");
  Request(b, u"n");
  (void)Read(all);
  machine.Kill(p);
  for (uint32_t i = 0; i < 2; ++i) machine.segment().shard(i).dirty.Set(1);
  Request(c, u"n");
  EXPECT_THAT(Read(all), ElementsAre("died n", "granted n", "queued n"));
}

TEST_F(Watching, CarriesWhoAndWhen) {
  machine.segment().process(1).process_id.Set(77);
  machine.segment().process(1).pid_namespace.Set(5);
  machine.segment().agent(2).thread_id.Set(3);
  const core::RequestReply reply = Request(b, u"n", kShared);
  const auto event = all.Next(1);
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->entry.token, reply.token);
  const auto facts = segment::RequestFacts::FromByte(event->entry.request_facts);
  EXPECT_EQ(facts.mode, LockMode::kShared);
  EXPECT_EQ(facts.priority, Priority::kUserVisible);
  EXPECT_EQ(facts.overtakes, 0U);
  EXPECT_EQ(event->entry.process_id, 77U);
  EXPECT_EQ(event->entry.pid_namespace, 5U);
  EXPECT_EQ(event->entry.thread_id, 3U);
  EXPECT_EQ(event->entry.process, q.ToWord());
  EXPECT_EQ(event->entry.client_id[0], machine.segment().agent(2).client_id[0].Get());
  EXPECT_EQ(event->entry.time_ms, machine.host().RealtimeMs());
}

class NamesOfEveryLength : public Watching, public testing::WithParamInterface<size_t> {};

TEST_P(NamesOfEveryLength, AreWholeOrCutAtTheMost) {
  std::u16string name;
  while (name.size() < GetParam()) name.push_back(static_cast<char16_t>(0xD7F0 + name.size()));
  Request(a, name);
  const auto event = all.Next(1);
  ASSERT_TRUE(event.has_value());
  EXPECT_EQ(event->name, name.substr(0, machine.segment().geometry().MaxWatchRingUnits()));
}

INSTANTIATE_TEST_SUITE_P(Units, NamesOfEveryLength,
                         testing::Values(0, 1, 19, 20, 21, 31, 32, 33, 63, 64, 65, 90));

TEST_F(Watching, OfOneNamePassesOverTheOthers) {
  WatchRingReader one(machine.segment(), u"b");
  Request(a, u"a");
  Request(a, u"b");
  Request(a, u"bb");
  EXPECT_THAT(Read(one), ElementsAre("granted b"));
}

TEST_F(Watching, LosesTheOldestWhenItIsTooSlowAndReadsHowMany) {
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(a.End(IdOf(a, u"n")).ok());  // 12 events, 8 slots
  EXPECT_THAT(Read(all), ElementsAre("granted n after 4", "released n", "granted n", "released n",
                                     "granted n", "released n", "granted n", "released n"));
  Request(a, u"n");
  EXPECT_THAT(Read(all), ElementsAre("granted n"));
}

TEST_F(Watching, LosesEventsWhoseLongNamesWereOverwritten) {
  // Each of a quarter of what the watch ring has for names.
  for (const char16_t unit : std::u16string(u"abcde")) {
    ASSERT_TRUE(a.End(IdOf(a, std::u16string(64, unit))).ok());
  }
  EXPECT_THAT(Read(all), ElementsAre("granted dddd after 6", "released dddd", "granted eeee",
                                     "released eeee"));
}

TEST_F(Watching, WaitsForAnEntryThatIsBeingWrittenAndNotForEver) {
  TakeNumber();
  Request(a, u"n");
  EXPECT_THAT(Read(all, 1), IsEmpty());
  EXPECT_THAT(Read(all, kPatienceNs), IsEmpty());
  EXPECT_THAT(Read(all, 1 + kPatienceNs), ElementsAre("granted n after 1"));
}

TEST_F(Watching, WaitsAnewForAnEntryThatWasTakenLater) {
  TakeNumber();
  EXPECT_THAT(Read(all, 1), IsEmpty());
  TakeNumber();
  Request(a, u"n");
  EXPECT_THAT(Read(all, 1 + kPatienceNs), IsEmpty());
  EXPECT_THAT(Read(all, 1 + 2 * kPatienceNs), ElementsAre("granted n after 2"));
}

TEST_F(Watching, BelievesNoCorruptedEntry) {
  Request(a, u"n");
  Request(a, u"m");
  segment::WatchRingSlot& slot = machine.segment().watch_ring_slot(1);
  slot.words[4].Set(slot.words[4].Get() ^ 1);
  EXPECT_THAT(Read(all, 1), IsEmpty());
  EXPECT_THAT(Read(all, 1 + kPatienceNs), ElementsAre("granted m after 1"));
}

TEST_F(Watching, SurvivesACorruptedHead) {
  machine.segment().header().last_entry.Set(UINT64_MAX - 3);
  EXPECT_THAT(Read(all, 1), IsEmpty());
  machine.segment().header().last_entry.Set(0);
  EXPECT_THAT(Read(all, 1), IsEmpty());
  Request(a, u"n");
  EXPECT_THAT(Read(all, 1), ElementsAre(testing::StartsWith("granted n")));
}

TEST_F(Watching, IsNotWrittenWithoutAWatcher) {
  watchers.Remove(c.ref());
  const uint64_t last = machine.segment().header().last_entry.Get();
  ASSERT_TRUE(a.End(IdOf(a, u"n")).ok());
  EXPECT_EQ(machine.segment().header().last_entry.Get(), last);
}

TEST_F(Watching, WritesIncidentsAlsoWhenNoAgentWatchesAnyMore) {
  watchers.Remove(c.ref());
  Request(a, u"n");
  const core::RecordRef aborted = Request(b, u"n").record;
  const core::RecordRef timed_out = Request(b, u"n").record;
  ASSERT_TRUE(b.lock_table().End(aborted, kShardTimeoutNs).ok());
  ASSERT_TRUE(b.lock_table().End(timed_out, kShardTimeoutNs, core::EndReason::kTimedOut).ok());
  Request(b, u"n", kSteal);
  const uint32_t limited = IdOf(a2, u"limited", HeldFor(1000));
  machine.host().PassTime(2000);
  (void)a2.EnforceHoldLimits(limited);
  machine.Kill(q);
  ASSERT_TRUE(a.lock_table().Reap(q, kShardTimeoutNs).ok());
  EXPECT_THAT(Read(all), ElementsAre("timedout n", "stolen n", "expired limi", "died n"));
  watchers.Add(c.ref());
  Request(a, u"m");
  EXPECT_THAT(Read(all), ElementsAre("granted m"));
}

TEST_F(Watching, PassesOverAllButIncidentsWhilePaused) {
  all.SetPaused(true);
  Request(a, u"n");
  Request(b, u"n", kSteal);
  EXPECT_THAT(Read(all), ElementsAre("stolen n"));
  all.SetPaused(false);
  Request(a, u"m");
  EXPECT_THAT(Read(all), ElementsAre("granted m"));
}

class NeverWatched : public LockTableTest {};

TEST_F(NeverWatched, WritesNothing) {
  Request(a, u"n");
  Request(b, u"n", kSteal);
  machine.Kill(q);
  ASSERT_TRUE(a.lock_table().Reap(q, kShardTimeoutNs).ok());
  EXPECT_EQ(machine.segment().header().last_entry.Get(), 0U);
}

TEST_F(Watching, GoesOnUntilTheLastHasEnded) {
  watchers.Add(a.ref());
  watchers.Remove(c.ref());
  EXPECT_TRUE(IsWatched());
  watchers.Remove(a.ref());
  EXPECT_FALSE(IsWatched());
}

TEST_F(Watching, EndsWithTheDeathOfTheWatcher) {
  machine.Kill(r);
  ASSERT_TRUE(a.lock_table().Reap(r, kShardTimeoutNs).ok());
  EXPECT_FALSE(IsWatched());
}

TEST_F(Watching, IsNotEndedByWhoCleansUpAfterAnEarlierBearerOfTheEntry) {
  segment::AgentRef earlier = c.ref();
  --earlier.generation;
  watchers.Remove(earlier);
  EXPECT_TRUE(IsWatched());
}

TEST_F(Watching, EndsThoughAFreeEntrySaysThatItsLastBearerWatched) {
  segment::AgentEntry& free = machine.segment().agent(5);
  free.generation.Set(4);
  free.watching.Set(4);
  watchers.Remove(c.ref());
  EXPECT_FALSE(IsWatched());
}

// The count of an agent that died in the middle of its end is corrected by the next end.
TEST_F(Watching, OfNoAgentEndsWithTheNextAgent) {
  machine.segment().agent(c.ref().index).watching.Set(0);
  EXPECT_TRUE(IsWatched());
  ASSERT_TRUE(a.lock_table().TerminateAgent(a.ref(), kShardTimeoutNs).ok());
  EXPECT_FALSE(IsWatched());
}

}  // namespace
}  // namespace holdfast::test
