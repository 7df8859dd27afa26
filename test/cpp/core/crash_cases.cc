#include "core/crash_cases.h"

#include "core/snapshot.h"

namespace holdfast::test {
namespace {

void CleanUpGhost(CrashScene& scene) {
  (void)scene.doomed.manager().TerminateProcess(scene.ghost_process, kBudgetNs);
}

void RepairAll(CrashScene& scene) {
  for (uint32_t shard = 0; shard < scene.machine.segment().geometry().shards; ++shard) {
    core::Notices notices(scene.machine.segment(), scene.machine.environment());
    (void)scene.doomed.manager().Enter(shard, notices, kBudgetNs);
  }
}

void MarkDirty(CrashScene& scene) {
  for (uint32_t shard = 0; shard < scene.machine.segment().geometry().shards; ++shard) {
    scene.machine.segment().shard(shard).dirty.Set(1);
  }
}

}  // namespace

// The ids that a scene gives begin with 1 in `prepare`.
std::vector<CrashCase> CrashCases() {
  return {
      {"FirstRequest", [](CrashScene&) {}, [](CrashScene& s) { s.Ask(s.doomed, u"a"); }},
      {"GrantBesideOtherHolders",
       [](CrashScene& s) {
         s.Ask(s.first, u"a", kShared);
         s.Ask(s.second, u"a", kShared);
       },
       [](CrashScene& s) { s.Ask(s.doomed, u"a", kShared); }},
      {"Queued",
       [](CrashScene& s) {
         s.Ask(s.first, u"a");
         s.Ask(s.second, u"a", kShared);
       },
       [](CrashScene& s) { s.Ask(s.doomed, u"a", kShared); }},
      {"QueuedBehindItself",
       [](CrashScene& s) {
         s.Ask(s.doomed, u"a");
         s.Ask(s.first, u"a");
       },
       [](CrashScene& s) { s.Ask(s.doomed_too, u"a"); }},
      {"Missed", [](CrashScene& s) { s.Ask(s.first, u"a"); },
       [](CrashScene& s) { s.Ask(s.doomed, u"a", kIfAvailable); }},
      {"NewLongName", [](CrashScene& s) { s.Ask(s.first, u"a"); },
       [](CrashScene& s) { s.Ask(s.doomed, kLong); }},
      {"NewExtent",
       [](CrashScene& s) {
         for (const char16_t* name : {u"a", u"b", u"c", u"d", u"e", u"f"}) s.Ask(s.first, name);
         s.Ask(s.second, u"a");
       },
       [](CrashScene& s) {
         s.Ask(s.doomed, kLong);
         s.Ask(s.doomed, std::u16string(120, u'm'));
       }},
      {"StealFromSeveral",
       [](CrashScene& s) {
         s.Ask(s.first, u"a", kShared);
         s.Ask(s.second, u"a", kShared);
         s.Ask(s.doomed_too, u"a", kShared);
         s.Ask(s.second_too, u"a", kShared);
         s.Ask(s.first, u"a");
       },
       [](CrashScene& s) { s.Ask(s.doomed, u"a", kSteal); }},
      {"StealFromOneBeforeAQueue",
       [](CrashScene& s) {
         s.Ask(s.first, kLong);
         s.Ask(s.second, kLong, kShared);
         s.Ask(s.second_too, kLong, kShared);
       },
       [](CrashScene& s) { s.Ask(s.doomed, kLong, kSteal); }},
      {"StealFromNobody", [](CrashScene& s) { s.Ask(s.first, u"b"); },
       [](CrashScene& s) { s.Ask(s.doomed, u"a", kSteal); }},
      {"ReleaseOfTheLast", [](CrashScene& s) { s.Ask(s.doomed, kLong); },
       [](CrashScene& s) { (void)s.doomed.End(1); }},
      {"ReleaseGrantsOne",
       [](CrashScene& s) {
         s.Ask(s.doomed, u"a");
         s.Ask(s.first, u"a");
         s.Ask(s.second, u"a");
       },
       [](CrashScene& s) { (void)s.doomed.End(1); }},
      {"ReleaseGrantsSeveral",
       [](CrashScene& s) {
         s.Ask(s.doomed, u"a");
         s.Ask(s.first, u"a", kShared);
         s.Ask(s.second, u"a", kShared);
         s.Ask(s.second_too, u"a", kShared);
         s.Ask(s.first, u"a");
         s.Ask(s.second, u"a", kShared);
       },
       [](CrashScene& s) { (void)s.doomed.End(1); }},
      {"ReleaseOfOneOfSeveral",
       [](CrashScene& s) {
         s.Ask(s.first, u"a", kShared);
         s.Ask(s.doomed, u"a", kShared);
         s.Ask(s.second, u"a", kShared);
         s.Ask(s.first, u"a");
       },
       [](CrashScene& s) { (void)s.doomed.End(2); }},
      {"AbortAtTheHead",
       [](CrashScene& s) {
         s.Ask(s.first, u"a", kShared);
         s.Ask(s.doomed, u"a");
         s.Ask(s.second, u"a", kShared);
         s.Ask(s.second_too, u"a", kShared);
         s.Ask(s.first, u"a");
       },
       [](CrashScene& s) { (void)s.doomed.End(2); }},
      {"AbortInTheMiddle",
       [](CrashScene& s) {
         s.Ask(s.first, u"a");
         s.Ask(s.second, u"a");
         s.Ask(s.doomed, u"a");
         s.Ask(s.second_too, u"a");
       },
       [](CrashScene& s) { (void)s.doomed.End(3); }},
      {"AbortAtTheTail",
       [](CrashScene& s) {
         s.Ask(s.first, u"a");
         s.Ask(s.second, u"a");
         s.Ask(s.doomed, u"a");
       },
       [](CrashScene& s) { (void)s.doomed.End(3); }},
      {"EndOfAnUnreadGrant",
       [](CrashScene& s) {
         s.Ask(s.first, u"a");
         s.Ask(s.doomed, u"a");
         s.Ask(s.second, u"a");
       },
       [](CrashScene& s) {
         (void)s.doomed.End(2);
         (void)s.doomed.TakeNews();
       }},
      {"EndOfAnAgent",
       [](CrashScene& s) {
         s.Ask(s.doomed, u"a");
         s.Ask(s.first, u"a", kShared);
         s.Ask(s.second, u"a", kShared);
         s.Ask(s.second, u"b");
         s.Ask(s.doomed, u"b");
         s.Ask(s.doomed, kLong, kShared);
         s.Ask(s.first, kLong);
       },
       [](CrashScene& s) { (void)s.doomed.manager().TerminateAgent(s.doomed.ref(), kBudgetNs); }},
      {"CleanUpAfterAProcess",
       [](CrashScene& s) {
         s.Ask(s.ghost, u"a");
         s.Ask(s.first, u"a", kShared);
         s.Ask(s.ghost, u"a");
         s.Ask(s.second, u"a", kShared);
         s.Ask(s.ghost, kLong);
         s.Ask(s.doomed, kLong);
         s.Ask(s.second, kLong);
       },
       CleanUpGhost, true},
      {"Repair",
       [](CrashScene& s) {
         s.Ask(s.first, u"a", kShared);
         s.Ask(s.second, u"a", kShared);
         s.Ask(s.ghost, u"a");
         s.Ask(s.second_too, u"a", kShared);
         s.Ask(s.doomed, u"b");
         s.Ask(s.ghost, kLong);
         s.Ask(s.first, kLong);
         MarkDirty(s);
       },
       RepairAll, true},
      {"Snapshot",
       [](CrashScene& s) {
         s.Ask(s.first, u"a");
         s.Ask(s.second, u"b");
         s.Ask(s.second, u"a");
       },
       [](CrashScene& s) {
         core::LockManager manager = s.doomed.manager();
         (void)core::TakeSnapshot(manager, kBudgetNs);
       }},
  };
}

}  // namespace holdfast::test
