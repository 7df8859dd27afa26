'use strict';

// Mistakes in the order of queues (src/segment/priority.h).

const PRIORITY_TESTS = ['core_test:Priorit*:RandomHistory*'];
const CONTENTION_TESTS = ['core_test:ContentionTest*:RandomHistory*'];

/** @type {import('./planted-bugs.js').PlantedBug[]} */
const PRIORITY_BUGS = [
  {
    name: 'a holder inherits the priority of the first request only',
    file: 'src/core/shard_rules.cc',
    from: '    if (highest >= most) break;\n',
    to: '    if (highest >= most || id != kNoCell) break;\n',
    tests: CONTENTION_TESTS,
  },
  {
    name: 'a holder keeps the priority of a request that has left',
    file: 'src/core/shard_rules.cc',
    from: '  ReportWaitsNoMore(name, priority);\n',
    to: '  (void)priority;\n',
    tests: CONTENTION_TESTS,
  },
  {
    name: 'a holder keeps the priority of a request that was granted beside it',
    file: 'src/core/shard_rules.cc',
    from: '  if (grants > 0) ReportWaitsNoMore(*name, highest);\n',
    to: '  (void)highest;\n',
    tests: CONTENTION_TESTS,
  },
  {
    name: 'a request that keeps its position raises no priority of its holder',
    file: 'src/core/shard_rules.cc',
    from: '    return ReportContention(*name, ToContention(priority));\n',
    to: '    return;\n',
    tests: CONTENTION_TESTS,
  },
  {
    name: 'an urgent request behind others is not reported',
    file: 'src/core/shard_rules.cc',
    from: 'first == nullptr || priority > PositionOf(*first).priority;\n',
    to: 'first == nullptr;\n',
    tests: CONTENTION_TESTS,
  },
  {
    name: 'a repair leaves the priority that a holder was notified of',
    file: 'src/segment/repair.cc',
    from: '    highest = std::max(highest, ToContention(position.priority));\n',
    to: '    highest = Contention::kBackground;\n',
    tests: ['core_test:EveryOperation/CrashImages*'],
  },
  {
    name: 'a request that is overtaken does not count it',
    file: 'src/core/shard_rules.cc',
    from: '  ++position.overtakes;\n',
    to: '',
    tests: PRIORITY_TESTS,
  },
  {
    name: 'a request is overtaken for ever',
    file: 'src/core/shard_rules.cc',
    from: '(is_older || position.overtakes < segment::kMaxOvertakes)',
    to: 'true',
    tests: PRIORITY_TESTS,
  },
  {
    name: 'requests that are passed keep their orders',
    file: 'src/core/shard_rules.cc',
    from: '    position.order = order + passed;\n',
    to: '',
    tests: PRIORITY_TESTS,
  },
  {
    name: 'a repair links a queue by age',
    file: 'src/segment/repair.cc',
    from: 'return a->order < b->order;',
    to: 'return a->ticket < b->ticket;',
    tests: PRIORITY_TESTS,
  },
  {
    name: 'a change of priority grants nothing',
    file: 'src/core/shard_rules.cc',
    from: '  ProcessLockRequestQueue(name_id);\n  for (const CellId changed',
    to: '  for (const CellId changed',
    tests: PRIORITY_TESTS,
  },
  {
    name: 'those behind an urgent request do not know of its hold limit',
    file: 'src/core/shard_rules.cc',
    from: '  if (request.hold_limit_ns.Get() != 0) ReportHoldLimit(next_id);\n',
    to: '',
    tests: PRIORITY_TESTS,
  },
  {
    name: 'the first passed request is rung after the shard is left',
    file: 'src/core/shard_rules.cc',
    from: '  wake_queue_.RingNow(next->agent.Get());\n',
    to: '',
    tests: ['simulation_test'],
  },
  {
    name: 'an urgent lock is biased',
    file: 'src/core/shard_rules.cc',
    from: 'position.priority == Priority::kUserVisible &&',
    to: 'true &&',
    tests: PRIORITY_TESTS,
  },
  {
    name: 'a change of priority in a locked shard is lost',
    file: 'src/core/agent.cc',
    from: '  return changed.code() != StatusCode::kBusy;\n',
    to: '  return true;\n',
    tests: PRIORITY_TESTS,
  },
];

module.exports = { PRIORITY_BUGS };
