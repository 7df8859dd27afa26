#include "simulation/simulation.h"

#include <algorithm>

#include "segment/event_list.h"
#include "segment/invariants.h"
#include "segment/lock_word.h"
#include "support/reference_model.h"

namespace holdfast::test {
namespace {

constexpr uint64_t kNsPerSecond = 1'000'000'000;
constexpr size_t kMaxProcesses = 5;  // one slot less than there are
// A seed decides how finely threads are interleaved, and how fast they are.
constexpr uint32_t kPoints[] = {2, 8, 30, 120};
constexpr uint64_t kStepNs[] = {20, 200, 5'000};

uint64_t Mix(uint64_t seed) { return std::mt19937_64(seed)(); }

}  // namespace

Simulation::Simulation(uint64_t seed)
    : world_(seed, kPoints[Mix(seed) % std::size(kPoints)],
             kStepNs[Mix(seed + 1) % std::size(kStepNs)]),
      watch_ring_(world_),
      geometry_(segment::Geometry::ForCapacity(SimulatedCapacity())),
      actions_left_(3 + world_.Below(8)) {
  habits_.steals = world_.OneIn(3);
  habits_.has_priorities = world_.OneIn(3);
  habits_.requests = 2 + world_.Below(6);
  habits_.watches = world_.OneIn(2);
  habits_.keeps = world_.OneIn(2);
  if (habits_.keeps) habits_.requests *= 2;
  is_corrupting_ = world_.OneIn(3);
  if (world_.OneIn(3)) world_.DoomLeavers(10 + world_.Below(100));
  if (world_.OneIn(4)) habits_.hold_ns = 3'000'000;  // longer than a wait for a shard
  const uint32_t processes = 2 + world_.Below(3);
  for (uint32_t i = 0; i < processes; ++i) StartProcess();
}

std::string Simulation::Run() {
  BeActive();
  BecomeQuiet();
  if (!HasFailed()) Inspect();
  return fault_;
}

uint64_t Simulation::takes() const {
  uint64_t takes = 0;
  for (const auto& program : programs_) takes += program->takes();
  return takes;
}

void Simulation::StartProcess() {
  SimProcess& process = world_.StartProcess();
  processes_.push_back(&process);
  StartProgram(process);
  if (world_.OneIn(3)) StartProgram(process);
}

void Simulation::StartProgram(SimProcess& process) {
  programs_.push_back(std::make_unique<Program>(world_, process, log_, watch_ring_, habits_));
  world_.StartThread(process, [program = programs_.back().get()] { program->Run(); });
}

bool Simulation::Step() {
  const bool has_stepped = world_.Step();
  if (habits_.watches) watch_ring_.Read();
  return has_stepped;
}

std::vector<SimProcess*> Simulation::Living() {
  std::vector<SimProcess*> living;
  for (SimProcess* const process : processes_) {
    if (!process->is_dead && process->threads > 0) living.push_back(process);
  }
  return living;
}

bool Simulation::HasFailed() {
  if (!log_.fault().empty()) Fail(log_.fault());
  if (!watch_ring_.fault().empty()) Fail(watch_ring_.fault());
  for (const auto& program : programs_) {
    if (!program->fault().empty()) Fail(program->fault());
  }
  return !fault_.empty();
}

// Until all that was to happen has happened, or nothing does.
void Simulation::BeActive() {
  while (actions_left_ > 0 && !HasFailed()) {
    if (--steps_to_action_ == 0) {
      Interfere();
      --actions_left_;
      steps_to_action_ = 1 + world_.Below(world_.OneIn(2) ? 40 : 400);
    }
    if (!Step()) steps_to_action_ = 1;
    KillWhoHasJustLeft();
  }
  world_.DoomLeavers(0);
}

void Simulation::Interfere() {
  const std::vector<SimProcess*> living = Living();
  if (living.empty()) return StartProcess();
  if (is_corrupting_ && world_.OneIn(3)) return Corrupt();
  const uint32_t dice = world_.Below(100);
  if (dice < 45 && living.size() > 1) return KillOne();
  if (living.size() < kMaxProcesses && dice < 70) return StartProcess();
  if (dice < 78) return LetOneLeave();
  SimProcess& process = *living[world_.Below(static_cast<uint32_t>(living.size()))];
  if (process.is_stopped) return world_.Resume(process);
  if (IsStoppable(process)) world_.Stop(process);
}

// The registry of the core is shared by all simulated processes: a process that is stopped inside
// would keep the others from it.
bool Simulation::IsStoppable(const SimProcess& process) const {
  return std::all_of(programs_.begin(), programs_.end(), [&](const auto& program) {
    return &program->process() != &process || program->is_attached() || program->is_done();
  });
}

void Simulation::KillOne() {
  const std::vector<SimProcess*> living = Living();
  Kill(*living[world_.Below(static_cast<uint32_t>(living.size()))]);
}

// Ends one program in the middle of its work, while other threads of its process may continue.
void Simulation::LetOneLeave() {
  std::vector<Program*> here;
  for (const auto& program : programs_) {
    if (!program->process().is_dead && program->is_attached()) here.push_back(program.get());
  }
  if (here.size() > 1) here[world_.Below(static_cast<uint32_t>(here.size()))]->Leave();
}

// A death at a moment that chance seldom hits: the change in the shard is complete, and no agent is
// rung yet.
void Simulation::KillWhoHasJustLeft() {
  SimProcess* const doomed = world_.TakeDoomed();
  if (doomed == nullptr || Living().size() < 2) return;
  Kill(*doomed);
  if (world_.OneIn(2)) actions_left_ = 0;
}

// No later visitor makes up for the missed rings.
void Simulation::LeaveFewAlive() {
  const size_t few = 1 + world_.Below(2);
  while (Living().size() > few) KillOne();
}

void Simulation::Kill(SimProcess& victim) {
  world_.Kill(victim);
  log_.ProcessDied(victim.id);
  ++kills_;
}

// Only in a shard that is not entered: an overwritten word of an entered shard would let another
// process in.
void Simulation::Corrupt() {
  const Undisturbed undisturbed;
  segment::Segment table = Table();
  segment::ShardHeader& shard = table.shard(world_.Below(geometry_.shards));
  const auto slot = static_cast<uint16_t>(world_.Below(geometry_.processes));
  const segment::ProcessRef accused{slot, table.process(slot).generation.Get()};
  if (shard.lock_word.Get() != 0 || accused.generation == 0) return;
  constexpr uint32_t kWaiters = 0x80000000;
  shard.lock_word.Set(accused.ToShortWord() | (world_.OneIn(3) ? kWaiters : 0));
  ++corruptions_;
}

void Simulation::BecomeQuiet() {
  if (world_.OneIn(3)) LeaveFewAlive();
  for (SimProcess* const process : Living()) world_.Resume(*process);
  for (const auto& program : programs_) program->BeQuiet();
  RunUntilNothingHappens(kNsPerSecond, "a second after the last request something still happens");
  CheckNoRequestWaits();
  CheckTheWatchers();
}

// A program that still watches knows of every death by now, sees what happens now, and has seen or
// counted everything that has happened.
void Simulation::CheckTheWatchers() {
  std::vector<Program*> here;
  for (const auto& program : programs_) {
    if (!program->process().is_dead && !program->is_done()) here.push_back(program.get());
  }
  if (HasFailed() || here.empty()) return;
  const auto check = [&](void (Watching::*what)()) {
    watch_ring_.Finish();
    for (Program* const program : here) {
      if (program->watching() == nullptr) continue;
      (program->watching()->*what)();
      Fail(program->watching()->fault());
    }
  };
  check(&Watching::CheckThatTheDeadHaveEnded);
  here.front()->Probe();
  for (Program* const program : here) program->BeQuiet();
  RunUntilNothingHappens(kNsPerSecond, "a second after a last request something still happens");
  check(&Watching::CheckThatAllWasSeen);
}

void Simulation::LetANewcomerIn() {
  StartProgram(world_.StartProcess());
  programs_.back()->BeQuiet();
  RunUntilNothingHappens(kNsPerSecond, "a second after a newcomer came something still happens");
}

void Simulation::RunUntilNothingHappens(uint64_t max_ns, const std::string& what) {
  const uint64_t end_ns = world_.now_ns() + max_ns;
  while (!HasFailed() && Step()) {
    if (world_.now_ns() > end_ns) return Fail(what + world_.Describe());
  }
}

void Simulation::CheckNoRequestWaits() {
  for (const auto& program : programs_) {
    if (program->process().is_dead || program->is_done()) continue;
    if (!program->is_attached()) Fail("a process waits for ever while it attaches");
    if (!program->is_idle()) {
      Fail("waits for ever:" + program->WhatItWaitsFor() + DescribeTable() + world_.Describe());
    }
  }
}

std::string Simulation::DescribeTable() {
  const Undisturbed undisturbed;
  segment::Segment table = Table();
  std::string text = "\n" + ReferenceModel::Read(table).ToString();
  for (uint32_t i = 0; i < geometry_.agents; ++i) {
    const segment::AgentRef agent = table.AgentAt(i);
    if (agent.generation == 0) continue;
    const segment::AgentEntry& entry = table.agent(i);
    text += "\n  agent " + std::to_string(i) + " of slot " + std::to_string(agent.process.slot) +
            (entry.sleeping.Get() != 0 ? ", sleeps" : "") +
            (segment::HasEvents(entry) ? ", has events" : "");
  }
  return text;
}

// All leave, and a newcomer cleans up after the dead that no process waited for.
void Simulation::Inspect() {
  for (const auto& program : programs_) {
    if (!program->process().is_dead && !program->is_done()) program->Leave();
  }
  RunUntilNothingHappens(kNsPerSecond, "a second after all were to leave something still happens");
  LetANewcomerIn();
  if (HasFailed()) return;
  if (!programs_.back()->is_attached()) return Fail("a newcomer is not let in");
  // It enters every shard: who took extents from one has left that to the next one to repair.
  programs_.back()->Probe();
  RunUntilNothingHappens(kNsPerSecond, "a second after a newcomer's requests something happens");
  programs_.back()->Leave();
  RunUntilNothingHappens(kNsPerSecond, "a newcomer does not leave");
  if (world_.HasThreads()) Fail("a thread never ends:" + world_.Describe());
  CheckNothingIsLeft();
}

void Simulation::CheckNothingIsLeft() {
  const Undisturbed undisturbed;
  segment::Segment table = Table();
  for (const std::string& violation : segment::CheckInvariants(table)) Fail(violation);
  for (uint32_t shard = 0; shard < geometry_.shards; ++shard) {
    if (table.shard(shard).used_count.Get() != 0) Fail("cells are never freed:" + DescribeTable());
    // In a shard that was not entered again, a corrupted word names one of the dead.
    if (corruptions_ == 0 && segment::LockWord(table, shard).IsLocked()) {
      Fail("a shard is locked without an owner");
    }
    if (table.shard(shard).watched.Get() % 2 != 0) Fail("a shard is watched without a watcher");
  }
  for (uint32_t agent = 0; agent < geometry_.agents; ++agent) {
    if (table.agent(agent).owner.Get() == 0) continue;
    const segment::AgentRef left = table.AgentAt(agent);
    Fail("agent entry " + std::to_string(agent) + " of generation " +
         std::to_string(left.generation) + " is never freed");
  }
  for (uint32_t slot = 0; slot < geometry_.processes; ++slot) {
    const segment::ProcessEntry& entry = table.process(slot);
    if (entry.cleaned_generation.Get() != entry.generation.Get()) Fail("a dead process is left");
  }
  CheckFiles(table);
}

// A program that is killed at the very end of a clean end may leave a file, which goes with the
// next claim of the same entry: one for each entry at most, of its newest generation.
void Simulation::CheckFiles(segment::Segment& table) {
  for (const auto& [name, fifo] : world_.kernel().files()) {
    const size_t dash = name.find('-');
    const auto index = static_cast<uint32_t>(std::stoul(name.substr(1, dash - 1)));
    const auto generation = static_cast<uint32_t>(std::stoul(name.substr(dash + 1)));
    const uint32_t newest = name[0] == 'a' ? table.agent(index).generation.Get()
                                           : table.process(index).generation.Get();
    if (fifo->has_reader || generation != newest) Fail("the file " + name + " is left");
  }
}

}  // namespace holdfast::test
