'use strict';

// Mistakes in watch(): in the watch ring, in its readers, and in the account of who watches.

const SIMULATION = 'simulation_test';
const WATCHING = 'core_test:Watching*';

/** @type {import('./planted-bugs.js').PlantedBug[]} */
const WATCH_BUGS = [
  {
    name: 'a new watcher marks no shard',
    file: 'src/segment/watch_ring.cc',
    from: 'while (!watched.CompareExchange(seen, (seen | 1) + (seen & 1) * 2)) {',
    to: 'while (seen > (seen | 1)) {',
    tests: [WATCHING, SIMULATION],
  },
  {
    name: 'a watcher that stops leaves its mark',
    file: 'src/core/lock_table.cc',
    from: '  segment::WatchRegistry(segment_).Remove(agent);\n',
    to: '',
    tests: [WATCHING, SIMULATION],
  },
  {
    name: 'a watcher that died counts as one',
    file: 'src/segment/watch_ring.cc',
    from: 'if (is_bearer && entry.owner.LoadSeqCst() != 0) return true;',
    to: 'if (is_bearer) return true;',
    tests: [WATCHING, SIMULATION],
  },
  {
    name: 'the end of a watcher removes the mark of a newer watcher',
    file: 'src/segment/watch_ring.cc',
    from: 'segment_.shard(shard).watched.CompareExchange(seen, seen + 1);',
    to: 'segment_.shard(shard).watched.Set(seen + 1);',
    tests: ['core_test:WatchersThatMeet*'],
  },
  {
    name: 'a number is taken after its event',
    file: 'src/segment/watch_ring.h',
    from: `TakeNumber() : kNone) {}

  // To be called after the event was committed. The request may be free by now, but not reused.
  void Write(Host& host, LockEvent event, const RequestCell& request, const NameCell& name) const {
    if (number_ != kNone) Fill(host, event, request, name);
  }

 private:
  static constexpr uint64_t kNone = 0;
`,
    to: `1U : kNone) {}

  void Write(Host& host, LockEvent event, const RequestCell& request, const NameCell& name) const {
    if (number_ != kNone) WatchRingWriter(shard_, TakeNumber()).Fill(host, event, request, name);
  }

 private:
  static constexpr uint64_t kNone = 0;
  WatchRingWriter(const ShardView& shard, uint64_t number) : shard_(shard), number_(number) {}
`,
    tests: [SIMULATION],
  },
  {
    name: 'the check of an entry leaves out its number',
    file: 'src/segment/watch_ring.cc',
    from: '  Check check(number);\n',
    to: '  Check check(number * 0);\n',
    tests: [WATCHING, SIMULATION],
  },
  {
    name: 'a long name is believed without its check',
    file: 'src/segment/watch_ring.cc',
    from: 'return text_check.sum() == entry.text_check ? Found::kEntry : Found::kNameless;',
    to: 'return text_check.sum() != 0 ? Found::kEntry : Found::kNameless;',
    tests: [WATCHING, SIMULATION],
  },
  {
    name: 'events that overtook a watcher are not counted',
    file: 'src/core/agent_watches.cc',
    from: '    lost_ += last - slots_ + 1 - next_;\n',
    to: '',
    tests: [WATCHING, SIMULATION],
  },
  {
    name: 'an event that a dead writer did not finish is not counted',
    file: 'src/core/agent_watches.cc',
    from: '  ++lost_;\n',
    to: '',
    tests: [WATCHING, SIMULATION],
  },
  {
    name: 'a watcher gives up an entry that is being written',
    file: 'src/core/agent_watches.cc',
    from: 'return now_ns - gap_since_ns_ >= kPatienceNs;',
    to: 'return now_ns >= gap_since_ns_;',
    tests: [WATCHING, SIMULATION],
  },
  {
    name: 'a watcher does not follow the lives of the processes in its events',
    file: 'src/core/agent_watches.cc',
    from: '    FollowLife(ProcessRef::FromWord(event->entry.process));\n',
    to: '',
    tests: [SIMULATION],
  },
  {
    name: 'a watcher that has missed events does not follow new processes',
    file: 'src/core/agent_watches.cc',
    from: '  if (reader.lost() != lost_before && !reader.is_paused()) FollowLives();\n',
    to: '  (void)lost_before;\n',
    tests: ['core_test:AgentWatches*'],
  },
  {
    name: 'a later watch follows no process',
    file: 'src/core/agent_watches.cc',
    from: '  FollowLives();\n  return last_id_;',
    to: '  if (readers_.size() == 1) FollowLives();\n  return last_id_;',
    tests: ['core_test:AgentWatches*'],
  },
  {
    name: 'a process that attaches stays a suspect for life',
    file: 'src/core/peer_monitor.cc',
    from: 'return HoldLifeline(suspect.process);',
    to: 'return false;',
    tests: [SIMULATION],
  },
];

module.exports = { WATCH_BUGS };
