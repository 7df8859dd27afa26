#include "core/crash_cases.h"

#include <ostream>

#include "core/snapshot.h"
#include "segment/lock_word.h"
#include "segment/watch_ring.h"

namespace holdfast::test {
namespace {

void CleanUpGhost(CrashScene& scene) {
  (void)scene.doomed.lock_table().Reap(scene.ghost_process, kShardTimeoutNs);
}

constexpr uint64_t kHoldNs = 1000;

void EnforceHoldLimits(CrashScene& scene, uint32_t id) {
  scene.machine.host().PassTime(2 * kHoldNs);
  (void)scene.doomed.EnforceHoldLimits(id);
}

void RepairAll(CrashScene& scene) {
  for (uint32_t shard = 0; shard < scene.machine.segment().geometry().shards; ++shard) {
    core::WakeQueue wake_queue(scene.machine.segment(), scene.machine.host());
    (void)scene.doomed.lock_table().Enter(shard, wake_queue, kShardTimeoutNs);
  }
}

void MarkDirty(CrashScene& scene) {
  for (uint32_t shard = 0; shard < scene.machine.segment().geometry().shards; ++shard) {
    scene.machine.segment().shard(shard).dirty.Set(1);
  }
}

// The other content of the segment during the operation.
const char* const kNamesOfSituations[kSituations] = {
    "alone", "beside other locks", "with returned cells", "among sleepers with events", "watched"};

}  // namespace

const char* NameOfSituation(uint32_t situation) { return kNamesOfSituations[situation]; }

void Arrange(CrashScene& scene, const CrashCase& crash_case, uint32_t situation) {
  if (situation == kWatched)
    segment::WatchRegistry(scene.machine.segment()).Add(scene.second.ref());
  crash_case.prepare(scene);
  if (situation == 1) {
    scene.Request(scene.first, u"x", kShared);
    scene.Request(scene.doomed, u"x", kShared);
    scene.Request(scene.second, u"x");
    scene.Request(scene.doomed, u"y");
    scene.Request(scene.doomed_too, u"y");
    scene.Request(scene.first, u"y");
  }
  if (situation == 2) {
    const uint32_t first = scene.Request(scene.first, u"x");
    const uint32_t second = scene.Request(scene.second, kLong);
    const uint32_t third = scene.Request(scene.first, u"y");
    (void)scene.first.End(first);
    (void)scene.second.End(second);
    (void)scene.first.End(third);
  }
  scene.FallAsleep();
  if (situation == 3) {
    const uint32_t holder = scene.Request(scene.second, u"x");
    scene.Request(scene.doomed, u"x");
    scene.Request(scene.first, u"y");
    scene.Request(scene.second_too, u"y", kSteal);
    (void)scene.second.End(holder);
  }
  if (crash_case.ghost_is_dead) scene.machine.Kill(scene.ghost_process);
}

// The ids that a scene gives begin with 1 in `prepare`.
std::vector<CrashCase> CrashCases() {
  return {
      {"FirstRequest", [](CrashScene&) {}, [](CrashScene& s) { s.Request(s.doomed, u"a"); }},
      {"GrantBesideOtherHolders",
       [](CrashScene& s) {
         s.Request(s.first, u"a", kShared);
         s.Request(s.second, u"a", kShared);
       },
       [](CrashScene& s) { s.Request(s.doomed, u"a", kShared); }},
      {"Queued",
       [](CrashScene& s) {
         s.Request(s.first, u"a");
         s.Request(s.second, u"a", kShared);
       },
       [](CrashScene& s) { s.Request(s.doomed, u"a", kShared); }},
      {"QueuedBehindAWatchingHolder",
       [](CrashScene& s) {
         s.Request(s.first, u"a", kShared);
         s.Request(s.second, u"a", kShared);
         s.first.WatchContention(1);
         s.second.WatchContention(2);
       },
       [](CrashScene& s) { s.Request(s.doomed, u"a"); }},
      {"EndOfAnUrgentRequestOfAWatchingHolder",
       [](CrashScene& s) {
         s.Request(s.first, u"a", kShared);
         s.Request(s.second, u"a", kShared);
         s.first.WatchContention(1);
         s.second.WatchContention(2);
         s.Request(s.second, u"a");
         s.Request(s.doomed, u"a", kUrgent);
         (void)s.first.TakeEvents();
         (void)s.second.TakeEvents();
       },
       [](CrashScene& s) { (void)s.doomed.End(4); }},
      {"RiseOfAPriorityBehindAWatchingHolder",
       [](CrashScene& s) {
         s.Request(s.first, u"a");
         s.first.WatchContention(1);
         s.Request(s.second, u"a");
         s.Request(s.doomed, u"a");
         (void)s.first.TakeEvents();
       },
       [](CrashScene& s) { (void)s.doomed.ChangePriority(3, Priority::kUserBlocking); }},
      {"WatchContention", [](CrashScene& s) { s.Request(s.doomed, u"a"); },
       [](CrashScene& s) { s.doomed.WatchContention(1); }},
      {"WatchContentionOfABiasedLock",
       [](CrashScene& s) {
         s.Request(s.doomed, u"a");
         if (s.doomed.EndOrBias(1)) s.doomed.AcquireBiased(1);
       },
       [](CrashScene& s) {
         if (s.doomed.mine().contains(1)) s.doomed.WatchContention(1);
       },
       false, true},
      {"QueuedBeforeOthers",
       [](CrashScene& s) {
         s.Request(s.first, u"a");
         s.Request(s.second, u"a", kUrgent);
         s.Request(s.first, u"a");
         s.Request(s.second, u"a", kBackground);
       },
       [](CrashScene& s) {
         s.Request(s.doomed, u"a", With(Priority::kUserBlocking, HeldFor(kHoldNs)));
       }},
      {"GrantedBeforeOthers",
       [](CrashScene& s) {
         s.Request(s.first, u"a", kShared);
         s.Request(s.second, u"a");
         s.Request(s.first, u"a", kBackground);
       },
       [](CrashScene& s) { s.Request(s.doomed, u"a", With(Priority::kUserBlocking, kShared)); }},
      {"RiseOfAPriority",
       [](CrashScene& s) {
         s.Request(s.first, u"a");
         s.Request(s.second, u"a");
         s.Request(s.first, u"a", kBackground);
         s.Request(s.doomed, u"a", kBackground);
         s.Request(s.second, u"a", kBackground);
       },
       [](CrashScene& s) { (void)s.doomed.ChangePriority(4, Priority::kUserBlocking); }},
      {"FallOfAPriorityThatLetsOthersIn",
       [](CrashScene& s) {
         s.Request(s.first, u"a", kShared);
         s.Request(s.doomed, u"a");
         s.Request(s.second, u"a", kShared);
         s.Request(s.first, u"a");
       },
       [](CrashScene& s) { (void)s.doomed.ChangePriority(2, Priority::kBackground); }},
      {"QueuedBehindItself",
       [](CrashScene& s) {
         s.Request(s.doomed, u"a");
         s.Request(s.first, u"a");
       },
       [](CrashScene& s) { s.Request(s.doomed_too, u"a"); }},
      {"Missed", [](CrashScene& s) { s.Request(s.first, u"a"); },
       [](CrashScene& s) { s.Request(s.doomed, u"a", kIfAvailable); }},
      {"NewLongName", [](CrashScene& s) { s.Request(s.first, u"a"); },
       [](CrashScene& s) { s.Request(s.doomed, kLong); }},
      {"NewExtent",
       [](CrashScene& s) {
         for (const char16_t* name : {u"a", u"b", u"c", u"d", u"e", u"f"}) s.Request(s.first, name);
         s.Request(s.second, u"a");
       },
       [](CrashScene& s) {
         s.Request(s.doomed, kLong);
         s.Request(s.doomed, std::u16string(120, u'm'));
       }},
      {"StealFromSeveral",
       [](CrashScene& s) {
         s.Request(s.first, u"a", kShared);
         s.Request(s.second, u"a", kShared);
         s.Request(s.doomed_too, u"a", kShared);
         s.Request(s.second_too, u"a", kShared);
         s.Request(s.first, u"a");
       },
       [](CrashScene& s) { s.Request(s.doomed, u"a", kSteal); }},
      {"StealFromOneBeforeAQueue",
       [](CrashScene& s) {
         s.Request(s.first, kLong);
         s.Request(s.second, kLong, kShared);
         s.Request(s.second_too, kLong, kShared);
       },
       [](CrashScene& s) { s.Request(s.doomed, kLong, kSteal); }},
      {"StealFromNobody", [](CrashScene& s) { s.Request(s.first, u"b"); },
       [](CrashScene& s) { s.Request(s.doomed, u"a", kSteal); }},
      {"ReleaseOfTheLast", [](CrashScene& s) { s.Request(s.doomed, kLong); },
       [](CrashScene& s) { (void)s.doomed.End(1); }},
      {"ReleaseGrantsOne",
       [](CrashScene& s) {
         s.Request(s.doomed, u"a");
         s.Request(s.first, u"a");
         s.Request(s.second, u"a");
       },
       [](CrashScene& s) { (void)s.doomed.End(1); }},
      {"ReleaseGrantsSeveral",
       [](CrashScene& s) {
         s.Request(s.doomed, u"a");
         s.Request(s.first, u"a", kShared);
         s.Request(s.second, u"a", kShared);
         s.Request(s.second_too, u"a", kShared);
         s.Request(s.first, u"a");
         s.Request(s.second, u"a", kShared);
       },
       [](CrashScene& s) { (void)s.doomed.End(1); }},
      {"ReleaseOfOneOfSeveral",
       [](CrashScene& s) {
         s.Request(s.first, u"a", kShared);
         s.Request(s.doomed, u"a", kShared);
         s.Request(s.second, u"a", kShared);
         s.Request(s.first, u"a");
       },
       [](CrashScene& s) { (void)s.doomed.End(2); }},
      {"AbortAtTheHead",
       [](CrashScene& s) {
         s.Request(s.first, u"a", kShared);
         s.Request(s.doomed, u"a");
         s.Request(s.second, u"a", kShared);
         s.Request(s.second_too, u"a", kShared);
         s.Request(s.first, u"a");
       },
       [](CrashScene& s) { (void)s.doomed.End(2); }},
      {"AbortInTheMiddle",
       [](CrashScene& s) {
         s.Request(s.first, u"a");
         s.Request(s.second, u"a");
         s.Request(s.doomed, u"a");
         s.Request(s.second_too, u"a");
       },
       [](CrashScene& s) { (void)s.doomed.End(3); }},
      {"AbortAtTheTail",
       [](CrashScene& s) {
         s.Request(s.first, u"a");
         s.Request(s.second, u"a");
         s.Request(s.doomed, u"a");
       },
       [](CrashScene& s) { (void)s.doomed.End(3); }},
      {"EndOfAnUnreadGrant",
       [](CrashScene& s) {
         s.Request(s.first, u"a");
         s.Request(s.doomed, u"a");
         s.Request(s.second, u"a");
       },
       [](CrashScene& s) {
         (void)s.doomed.End(2);
         (void)s.doomed.TakeEvents();
       }},
      {"EndOfAnAgent",
       [](CrashScene& s) {
         s.Request(s.doomed, u"a");
         s.Request(s.first, u"a", kShared);
         s.Request(s.second, u"a", kShared);
         s.Request(s.second, u"b");
         s.Request(s.doomed, u"b");
         s.Request(s.doomed, kLong, kShared);
         s.Request(s.first, kLong);
       },
       [](CrashScene& s) {
         (void)s.doomed.lock_table().TerminateAgent(s.doomed.ref(), kShardTimeoutNs);
       }},
      {"CleanUpAfterAProcess",
       [](CrashScene& s) {
         s.Request(s.ghost, u"a");
         s.Request(s.first, u"a", kShared);
         s.Request(s.ghost, u"a");
         s.Request(s.second, u"a", kShared);
         s.Request(s.ghost, kLong);
         s.Request(s.doomed, kLong);
         s.Request(s.second, kLong);
       },
       CleanUpGhost, true},
      {"Repair",
       [](CrashScene& s) {
         s.Request(s.first, u"a", kShared);
         s.Request(s.second, u"a", kShared);
         s.Request(s.ghost, u"a");
         s.Request(s.second_too, u"a", kShared);
         s.Request(s.doomed, u"b");
         s.Request(s.ghost, kLong);
         s.Request(s.first, kLong);
         MarkDirty(s);
       },
       RepairAll, true},
      {"GrantAtTheLimit",
       [](CrashScene& s) {
         s.Request(s.first, u"a", Limited(3));
         s.Request(s.second, u"a", Limited(2));
       },
       [](CrashScene& s) { s.Request(s.doomed, u"a", Limited(3)); }},
      {"ReleaseUnderALimit",
       [](CrashScene& s) {
         s.Request(s.doomed, u"a", Limited(2));
         s.Request(s.first, u"a", Limited(2));
         s.Request(s.second, u"a", Limited(2));
         s.Request(s.second_too, u"a", Limited(3));
         s.Request(s.first, u"a", Limited(3));
       },
       [](CrashScene& s) { (void)s.doomed.End(1); }},
      {"RequestWithALabelAndAHoldLimit", [](CrashScene&) {},
       [](CrashScene& s) {
         s.Request(s.doomed, u"a", {.hold_limit_ns = kHoldNs, .label = kLong});
       }},
      {"EndOfALabelledRequest",
       [](CrashScene& s) {
         s.Request(s.doomed, u"a", kLabelled);
         s.Request(s.first, u"a", {.hold_limit_ns = kHoldNs, .label = kLong});
       },
       [](CrashScene& s) { (void)s.doomed.End(1); }},
      {"ExpiryOfItsOwnLock",
       [](CrashScene& s) {
         s.Request(s.doomed, u"a", HeldFor(kHoldNs));
         s.Request(s.first, u"a", {.hold_limit_ns = kHoldNs, .label = kLong});
         s.Request(s.second, u"a");
       },
       [](CrashScene& s) { EnforceHoldLimits(s, 1); }},
      {"ExpiryOfALockOfOthers",
       [](CrashScene& s) {
         s.Request(s.first, u"a", {.mode = LockMode::kShared, .hold_limit_ns = kHoldNs});
         s.Request(s.second, u"a", kShared);
         s.Request(s.second_too, u"a", {.mode = LockMode::kShared, .limit = 2, .label = kLong});
         s.Request(s.doomed, u"a", kLabelled);
         s.Request(s.first, u"a", kShared);
       },
       [](CrashScene& s) { EnforceHoldLimits(s, 4); }},
      {"ExpiryOfTheLastUse",
       [](CrashScene& s) {
         s.Request(s.doomed, kLong, {.hold_limit_ns = kHoldNs, .label = kLong});
       },
       [](CrashScene& s) { EnforceHoldLimits(s, 1); }},
      {"NoticeOfAnExpiredLock",
       [](CrashScene& s) { s.Request(s.doomed, u"a", {.hold_limit_ns = kHoldNs, .label = kLong}); },
       [](CrashScene& s) {
         EnforceHoldLimits(s, 1);
         (void)s.doomed.TakeEvents();
       }},
      {"StealFromAHoldLimit",
       [](CrashScene& s) {
         s.Request(s.first, u"a", {.hold_limit_ns = kHoldNs, .label = kLong});
         s.Request(s.second, u"a", HeldFor(kHoldNs));
       },
       [](CrashScene& s) {
         s.Request(s.doomed, u"a", {.steal = true, .hold_limit_ns = kHoldNs, .label = u"stealer"});
       }},
      {"RepairOfLimits",
       [](CrashScene& s) {
         s.Request(s.first, u"a", Limited(1));
         s.Request(s.second, u"a", kShared);
         s.Request(s.ghost, u"a", Limited(3));
         s.Request(s.doomed, u"a", {.mode = LockMode::kShared, .limit = 3, .label = u"third"});
         s.Request(s.second_too, u"b", {.hold_limit_ns = kHoldNs, .label = kLong});
         s.Request(s.doomed, u"b", HeldFor(kHoldNs));
         MarkDirty(s);
       },
       RepairAll, true},
      {"DisowningCorruptedLocks",
       [](CrashScene& s) {
         s.Request(s.first, u"a");
         s.Request(s.second, u"a");
         for (uint32_t i = 0; i < s.machine.segment().geometry().shards; ++i) {
           s.machine.segment().shard(i).lock_word.Set(s.doomed_process.ToShortWord());
         }
       },
       [](CrashScene& s) {
         segment::DisownShards(s.machine.segment(), s.doomed_process, s.machine.host());
       }},
      {"BeginningToWatch", [](CrashScene& s) { s.Request(s.first, u"a"); },
       [](CrashScene& s) { segment::WatchRegistry(s.machine.segment()).Add(s.doomed.ref()); }},
      {"EndOfWatching",
       [](CrashScene& s) {
         segment::WatchRegistry(s.machine.segment()).Add(s.doomed.ref());
         s.Request(s.first, u"a");
       },
       [](CrashScene& s) { segment::WatchRegistry(s.machine.segment()).Remove(s.doomed.ref()); }},
      {"ReleaseThatBiases", [](CrashScene& s) { s.Request(s.doomed, kLong); },
       [](CrashScene& s) { s.doomed.EndOrBias(1); }},
      {"AcquisitionOfABiasedLock",
       [](CrashScene& s) {
         s.Request(s.doomed, u"a");
         s.doomed.EndOrBias(1);
       },
       [](CrashScene& s) { s.doomed.AcquireBiased(1, LockMode::kShared); }, false, true},
      {"TwoHoldsOfABiasedLock",
       [](CrashScene& s) {
         s.Request(s.doomed, u"a");
         s.doomed.EndOrBias(1);
       },
       [](CrashScene& s) {
         for (int i = 0; i < 2; ++i) {
           if (s.doomed.AcquireBiased(1)) s.doomed.ReleaseBiased(1);
         }
       },
       false, true},
      {"RequestForANameThatAnotherKeeps",
       [](CrashScene& s) {
         s.Request(s.first, u"a");
         s.first.EndOrBias(1);
       },
       [](CrashScene& s) { s.Request(s.doomed, u"a"); }},
      {"RequestForANameThatAnotherHasTaken",
       [](CrashScene& s) {
         s.Request(s.first, u"a");
         if (s.first.EndOrBias(1)) s.first.AcquireBiased(1, LockMode::kShared);
       },
       [](CrashScene& s) { s.Request(s.doomed, u"a"); }},
      {"StealOfATakenName",
       [](CrashScene& s) {
         s.Request(s.first, u"a");
         if (s.first.EndOrBias(1)) s.first.AcquireBiased(1);
       },
       [](CrashScene& s) { s.Request(s.doomed, u"a", kSteal); }},
      {"ReleaseOfATakenNameThatIsWanted",
       [](CrashScene& s) {
         s.Request(s.doomed, u"a");
         if (s.doomed.EndOrBias(1)) s.doomed.AcquireBiased(1);
         s.Request(s.first, u"a");
       },
       [](CrashScene& s) {
         if (s.doomed.biased().contains(1)) s.doomed.ReleaseBiased(1);
       },
       false, true},
      {"EndOfARevokedRecord",
       [](CrashScene& s) {
         s.Request(s.doomed, u"a");
         s.doomed.EndOrBias(1);
         s.Request(s.first, u"a");
       },
       [](CrashScene& s) { s.doomed.FreeBiased(1); }, false, true},
      {"EndOfAnAgentThatKeeps",
       [](CrashScene& s) {
         s.Request(s.doomed, u"a");
         s.Request(s.doomed, kLong);
         s.doomed.EndOrBias(1);
         if (s.doomed.EndOrBias(2)) s.doomed.AcquireBiased(2);
         s.Request(s.first, u"a");
       },
       [](CrashScene& s) {
         (void)s.doomed.lock_table().TerminateAgent(s.doomed.ref(), kShardTimeoutNs);
       },
       false, true},
      {"RepairOfBiasedLocks",
       [](CrashScene& s) {
         s.Request(s.first, u"a");
         s.Request(s.second, kLong);
         s.Request(s.ghost, u"c");
         s.first.EndOrBias(1);
         if (s.second.EndOrBias(2)) s.second.AcquireBiased(2);
         s.ghost.EndOrBias(3);
         MarkDirty(s);
       },
       RepairAll, true},
      {"BeginningToWatchBiasedLocks",
       [](CrashScene& s) {
         s.Request(s.first, u"a");
         s.Request(s.second, kLong);
         s.first.EndOrBias(1);
         if (s.second.EndOrBias(2)) s.second.AcquireBiased(2);
       },
       [](CrashScene& s) { segment::WatchRegistry(s.machine.segment()).Add(s.doomed.ref()); }},
      {"SnapshotOfBiasedLocks",
       [](CrashScene& s) {
         s.Request(s.first, u"a");
         s.Request(s.second, u"b");
         s.first.EndOrBias(1);
         if (s.second.EndOrBias(2)) s.second.AcquireBiased(2);
       },
       [](CrashScene& s) {
         core::LockTable lock_table = s.doomed.lock_table();
         (void)core::TakeSnapshot(lock_table, kShardTimeoutNs);
       }},
      {"Snapshot",
       [](CrashScene& s) {
         s.Request(s.first, u"a");
         s.Request(s.second, u"b");
         s.Request(s.second, u"a");
       },
       [](CrashScene& s) {
         core::LockTable lock_table = s.doomed.lock_table();
         (void)core::TakeSnapshot(lock_table, kShardTimeoutNs);
       }},
  };
}

void PrintTo(const CrashCase& crash_case, std::ostream* stream) { *stream << crash_case.name; }

}  // namespace holdfast::test
