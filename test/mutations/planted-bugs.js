'use strict';

// Possible mistakes in the core; some of them were made once. Each is a small change of the source;
// `tests` are the C++ tests (program, and a filter where not all of it is meant) of which one has
// to fail. `npm test -- mutants` plants them.

/**
 * @typedef {object} PlantedBug
 * @property {string} name
 * @property {string} file
 * @property {string} from Stands in the file exactly once.
 * @property {string} to
 * @property {string[]} tests
 */

const SIMULATION = 'simulation_test';
const CRASHES = 'core_test:EveryOperation/CrashImages*';
const HISTORIES = 'core_test:RandomHistory*';
const THREADS = 'core_test:Threads*';
const TERMINATION = 'core_test:Terminate*';
const REAPING = 'core_test:ReapProcess*';

/** @type {PlantedBug[]} */
const RULES = [
  {
    name: 'a holder is not notified of a request that waits',
    file: 'src/core/shard_rules.cc',
    from: '      holder->contention.Set(highest);\n      PostEvent(id, *holder);\n',
    to: '      holder->contention.Set(highest);\n',
    tests: ['core_test:ContentionTest*', SIMULATION],
  },
  {
    name: 'a repair forgets the holders that watch for contention',
    file: 'src/segment/repair.cc',
    from: '    contention.Set(highest == highest_waiting_.end() ? Contention::kNone : highest->second);\n',
    to: '    (void)highest;\n',
    tests: ['core_test:*PublicationCrashes*'],
  },
  {
    name: 'a deferred watch for contention posts no notice',
    file: 'src/core/agent.cc',
    from: '          .WatchContention(record, true, kWorkerTimeoutNs)\n',
    to: '          .WatchContention(record, false, kWorkerTimeoutNs)\n',
    tests: [SIMULATION],
  },
  {
    name: 'one request too many waits with maxPending',
    file: 'src/core/shard_rules.cc',
    from: '  for (uint32_t waiting = 0; waiting < count; ++waiting) {\n',
    to: '  for (uint32_t waiting = 0; waiting <= count; ++waiting) {\n',
    tests: ['core_test:LockTableMaxPending*'],
  },
  {
    name: 'a published request forgets its maxPending',
    file: 'src/core/agent.cc',
    from: '  cell.argument.Set(request.max_pending);\n',
    to: '  cell.argument.Set(kAnyNumber);\n',
    tests: ['core_test:AgentOperations*'],
  },
  {
    name: 'an aborted request leaves the queue unprocessed',
    file: 'src/core/shard_rules.cc',
    from: '  ReportWaitsNoMore(name, priority);\n  ProcessLockRequestQueue(name_id);\n',
    to: '  ReportWaitsNoMore(name, priority);\n  (void)name_id;\n',
    tests: [HISTORIES],
  },
  {
    name: 'a follower is not notified that it waits for another process now',
    file: 'src/core/shard_rules.cc',
    from: 'previous != nullptr && segment.OwnerOf(*previous) == segment.OwnerOf(request);',
    to: 'previous != nullptr && segment.OwnerOf(*previous).generation != 0;',
    tests: ['core_test:WakeQueue*'],
  },
  {
    name: 'a request overtakes the queue',
    file: 'src/core/shard_rules.cc',
    from: 'request.steal || (is_first && fits);',
    to: 'request.steal || ((is_first || held.shared > 0) && fits);',
    tests: [HISTORIES],
  },
  {
    name: 'a grant repeats a token',
    file: 'src/core/request_record.h',
    from: 'const uint64_t token = segment.header().last_token.FetchAdd(1) + 1;',
    to: 'const uint64_t token = segment.header().last_token.Get();',
    tests: ['core_test:LockTable*', SIMULATION],
  },
  {
    name: 'the holder of a stolen lock is not notified',
    file: 'src/core/shard_rules.cc',
    from: '    PostEvent(victim_id, *victim);\n',
    to: '',
    tests: ['core_test:WakeQueue*', HISTORIES],
  },
  {
    name: 'the event comes before its state',
    file: 'src/core/shard_rules.cc',
    from: '  // A death before this store leaves it waiting; after it, held, and repair makes its agent\n  // rescan.\n',
    to: '  PostEvent(id, request);\n  if (shard_.index() < 1000) {\n    request.state.Publish(CellState::kHeld);\n    return RequestList::Queue(shard_, name).Remove(id, request) && AddHeld(id, request, name);\n  }\n',
    tests: [SIMULATION, THREADS],
  },
  {
    name: 'a record is freed while it is among the events of its agent',
    file: 'src/core/shard_rules.cc',
    from: '  if (request.event_next.Get() != segment::kNotLinked) {',
    to: '  if (request.event_next.Get() != segment::kNotLinked && request.agent.Get() == 0xFFFF) {',
    tests: [HISTORIES, SIMULATION],
  },
];

/** @type {PlantedBug[]} */
const CRASH = [
  {
    name: 'the links are believed after a crash',
    file: 'src/segment/lock_word.h',
    from: '    if (outcome == LockOutcome::kOwnerDied) segment.shard(shard).dirty.Set(1);\n',
    to: '',
    tests: [CRASHES],
  },
  {
    name: 'a steal of a dead stealer is not rolled forward',
    file: 'src/segment/repair.cc',
    from: 'const bool counts = read.is_alive || state == CellState::kStealing;',
    to: 'const bool counts = read.is_alive;',
    tests: [CRASHES],
  },
  {
    name: 'a clean-up notifies no agent',
    file: 'src/core/lock_table.cc',
    from: '    WakeQueue(segment_, host_).AddUnrung();\n',
    to: '',
    tests: [TERMINATION, SIMULATION],
  },
  {
    name: 'a repair grants nothing',
    file: 'src/core/lock_table.cc',
    from: 'for (const CellId name : names) rules.ProcessLockRequestQueue(name);',
    to: 'for (const CellId name : names) (void)name;',
    tests: ['segment_test:Repair*', CRASHES],
  },
  {
    name: 'a repair lets the younger of two holders win',
    file: 'src/segment/repair.cc',
    from: 'return a.ticket != b.ticket ? a.ticket < b.ticket : a.id < b.id;',
    to: 'return a.ticket != b.ticket ? a.ticket > b.ticket : a.id < b.id;',
    tests: ['segment_test:Repair*', CRASHES],
  },
  {
    name: 'a repair does not raise the counters',
    file: 'src/segment/repair.cc',
    from: '    if (newest_ticket > header.last_ticket.Get()) header.last_ticket.Set(newest_ticket);\n',
    to: '',
    tests: ['segment_test:Repair*'],
  },
  {
    name: 'a repair does not compare the generation of the agent',
    file: 'src/segment/repair.cc',
    from: 'if (segment.AgentAt(agent) != AgentRef{agent, request.agent_generation.Get(), process}) {',
    to: 'if (segment.AgentAt(agent).process != process) {',
    tests: [TERMINATION, 'segment_test:Repair*', CRASHES, SIMULATION],
  },
  {
    name: 'a repair shows empty lists in between',
    file: 'src/segment/repair.cc',
    from: '  Segment& segment = shard_.segment();\n  std::vector<CellId> firsts(',
    to: '  Segment& segment = shard_.segment();\n  for (uint32_t i = 0; i < segment.geometry().agents; ++i) {\n    segment.agent_list(i, shard_.index()).Set(kNoCell);\n  }\n  std::vector<CellId> firsts(',
    tests: [SIMULATION],
  },
  {
    name: 'a living owner loses the lock of a shard',
    file: 'src/segment/lock_word.cc',
    from: 'if (owner.generation == 0 || !host.IsAlive(owner)) {',
    to: 'if (owner.generation == 0 || !host.IsAlive(owner) ||\n        host.MonotonicNs() - start > kSliceNs) {',
    tests: ['segment_test:LockWord*'],
  },
  {
    name: 'a thread that waits for a shard sleeps without a bound',
    file: 'src/segment/lock_word.cc',
    from: 'std::min(kSliceNs, timeout_ns - waited)',
    to: 'timeout_ns - waited',
    tests: ['segment_test:LockWord*'],
  },
  {
    name: 'a thread that has slept drops the waiters bit',
    file: 'src/segment/lock_word.cc',
    from: 'const uint32_t taken = self_word | kWaiters;',
    to: 'const uint32_t taken = self_word;',
    tests: ['segment_test:LockWord*'],
  },
];

/** @type {PlantedBug[]} */
const CLEAN_UP = [
  {
    name: 'the generation of an agent is not compared',
    file: 'src/core/lock_table.cc',
    from: 'if (request->agent_generation.Get() != agent.generation) {',
    to: 'if (false) {',
    tests: [TERMINATION],
  },
  {
    name: 'the files of an agent go after its entry',
    file: 'src/core/lock_table.cc',
    from: '    host_.RemoveDoorbell(agent);\n    uint64_t owner = agent.process.ToWord();\n    segment_.agent(i).owner.CompareExchange(owner, 0);\n',
    to: '    uint64_t owner = agent.process.ToWord();\n    segment_.agent(i).owner.CompareExchange(owner, 0);\n    host_.RemoveDoorbell(agent);\n',
    tests: [REAPING],
  },
  {
    name: 'an entry that was being claimed is not freed',
    file: 'src/core/lock_table.cc',
    from: 'const bool is_of_process = agent.process.generation != 0 &&',
    to: 'const bool is_of_process = agent.generation != 0 &&',
    tests: [REAPING],
  },
  {
    name: 'earlier bearers of a slot are forgotten',
    file: 'src/core/lock_table.cc',
    from: 'agent.process.generation <= process.generation;',
    to: 'agent.process.generation == process.generation;',
    tests: [TERMINATION, SIMULATION],
  },
  {
    name: 'an owner is paired with the generation of its successor',
    file: 'src/segment/segment.cc',
    from: '    if (entry.owner.Get() != owner) continue;\n',
    to: '',
    tests: ['segment_test:Segment*', SIMULATION],
  },
  {
    name: 'processes that a dead reaper had to clean up are not followed',
    file: 'src/core/peer_monitor.cc',
    from: '    suspects_.push_back({process});\n  }\n}\n\n// Whether the suspect',
    to: '    (void)process;\n  }\n}\n\n// Whether the suspect',
    tests: ['core_test:BackgroundWorker*', SIMULATION],
  },
];

/** @type {PlantedBug[]} */
const CLEAN_UP_AGAIN = [
  {
    name: 'a death wakes agents that it does not concern',
    file: 'src/core/wake_queue.cc',
    from: 'if (agent.owner.Get() != 0 && is_concerned)',
    to: 'if (agent.owner.Get() != 0 && (is_concerned || true))',
    tests: [REAPING, 'core_test:WakeQueueTest*'],
  },
  {
    name: 'a repair does not notify the agents of operations that the dead had answered',
    file: 'src/core/lock_table.cc',
    from: '  segment::NoteAgentsOf(view, concerned);\n',
    to: '',
    tests: ['core_test:*PublicationCrashes*'],
  },
  {
    name: 'an agent keeps a record without an entry',
    file: 'src/core/agent.cc',
    from: '    if (IsUnknown(record)) unknown[record.record.shard].push_back(record.record);\n',
    to: '',
    tests: ['core_test:UnknownRecord*'],
  },
  {
    name: 'an agent that opens does not read the records that name it already',
    file: 'src/core/process_slots.cc',
    from: '    if (HasRecords(at)) entry.rescan.Exchange(1);\n',
    to: '',
    tests: ['core_test:UnknownRecord*'],
  },
  {
    name: 'a record that names a later agent hides the rest of a list',
    file: 'src/core/lock_table.cc',
    from: '        if (segment_.AgentAt(agent.index) != agent) return Status();\n',
    to: '        return Status();\n',
    tests: ['core_test:UnknownRecord*'],
  },
  {
    name: 'a clean-up that is tried again makes all agents rescan',
    file: 'src/core/lock_table.cc',
    from: 'if (PassShards(rest.shards, timeout_ns) || is_first_time || is_free_at_last) {',
    to: 'const bool is_tried_again = is_free_at_last || !rest.shards.empty();\n  if (PassShards(rest.shards, timeout_ns) || is_first_time || is_tried_again) {',
    tests: [REAPING],
  },
  {
    name: 'a clean-up that could end nothing at first makes no agent rescan',
    file: 'src/core/lock_table.cc',
    from: 'const bool is_free_at_last = was_busy && result.ok();',
    to: 'const bool is_free_at_last = false && was_busy;',
    tests: [REAPING],
  },
  {
    name: 'a clean-up ends nothing behind a shard that it cannot enter',
    file: 'src/core/lock_table.cc',
    from: '    if (done.ok()) continue;\n',
    to: '    if (!done.ok()) return done;\n    continue;\n',
    tests: [REAPING],
  },
  {
    name: 'a clean exit calls its dead predecessor cleaned up',
    file: 'src/core/process_slots.cc',
    from: 'const bool is_predecessor_clean = entry.cleaned_generation.Acquire() == self_.generation - 1;',
    to: 'const bool is_predecessor_clean = true;',
    tests: ['core_test:DeadPredecessor*'],
  },
  {
    name: 'a request believes counts of holders that are not there',
    file: 'src/core/shard_rules.cc',
    from: '  if (!is_granted && is_alone && HasNoHolder(*found.cell)) {',
    to: '  if (!is_granted && is_alone && HasNoHolder(*found.cell) && names.Find(name).corrupted) {',
    tests: ['core_test:LostHolders*'],
  },
  {
    name: 'a release believes counts of holders that are not there',
    file: 'src/core/shard_rules.cc',
    from: '  if (name->queue_head.Get() != kNoCell && HasNoHolder(*name)) return shard_.MarkCorrupted();\n',
    to: '',
    tests: ['core_test:LostHolders*'],
  },
  {
    name: 'a stealer rings only after the steal',
    file: 'src/core/shard_rules.cc',
    from: '  WakeBeforeSteal(stealer, name);\n',
    to: '  (void)&ShardRules::WakeBeforeSteal;\n',
    tests: [SIMULATION],
  },
];

/** @type {PlantedBug[]} */
const NEWS = [
  {
    name: 'a record that is linked already is linked again',
    file: 'src/segment/event_list.cc',
    from: '  if (request.event_next.LoadRmw() != kNotLinked) return;\n',
    to: '',
    tests: ['segment_test:EventList*', HISTORIES, SIMULATION],
  },
  {
    name: 'the mark of a sleeper goes before it is rung',
    file: 'src/core/wake_queue.cc',
    from: '  const bool is_rung = host_.Ring(segment_.AgentAt(index));\n',
    to: '  if (is_unrung) agent.sleeping.CompareExchange(sleep, sleep | segment::kRung);\n  const bool is_rung = host_.Ring(segment_.AgentAt(index));\n',
    tests: ['core_test:WakeQueue*', SIMULATION],
  },
  {
    name: 'an agent reads its events before it announces its sleep',
    file: 'src/core/agent.cc',
    from: '  entry_.sleeping.Exchange(sleep_);\n  if (!HasEvents()) return true;\n',
    to: '  const bool has_events = HasEvents();\n  entry_.sleeping.Exchange(sleep_);\n  if (!has_events) return true;\n',
    tests: [SIMULATION],
  },
  {
    name: 'the sleeps of every agent begin with the same number',
    file: 'src/core/agent.cc',
    from: 'return generation * kFarApart % segment::kRung;',
    to: 'return generation * 0 * kFarApart;',
    tests: ['core_test:AgentPoll*'],
  },
  {
    name: 'all sleeps have the same number',
    file: 'src/core/agent.cc',
    from: '  sleep_ = sleep_ % (segment::kRung - 1) + 1;\n',
    to: '  sleep_ = 1;\n',
    tests: [SIMULATION],
  },
  {
    name: 'the process of the new first waiter is not watched',
    file: 'src/core/agent.cc',
    from: '    blocked_.push_back(record.record);\n',
    to: '    (void)record;\n',
    tests: [SIMULATION],
  },
  {
    name: 'the process that blocks a new request is not watched',
    file: 'src/core/agent.cc',
    from: '    (void)attachment_->worker().Watch(blocker.process);\n',
    to: '    (void)blocker;\n',
    tests: [SIMULATION],
  },
];

module.exports = {
  PLANTED_BUGS: [...RULES, ...CRASH, ...CLEAN_UP, ...CLEAN_UP_AGAIN, ...NEWS],
};
