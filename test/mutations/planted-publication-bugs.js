'use strict';

// Mistakes in the intake of a busy shard.

const SIMULATION = 'simulation_test';
const PUBLICATION_LIST = 'core_test:PublicationList*';
const AGENT = 'core_test:AgentOperations*';
const END = 'core_test:EndInThePublicationList*';

/** @type {import('./planted-bugs.js').PlantedBug[]} */
const PUBLICATION_BUGS = [
  {
    name: 'operations take the last extents of the table',
    file: 'src/core/extents.cc',
    from: 'if (AreMoreFree(reserve)) return Claim(1);',
    to: 'if (AreMoreFree(0) || reserve == 0) return Claim(1);',
    tests: ['core_test:AgentOperations.*'],
  },
  {
    name: 'the room of an operation that a repair has executed stays taken',
    file: 'src/core/agent.cc',
    from: '  if (!retired_.empty()) FreeRetired();\n',
    to: '',
    tests: ['core_test:AgentOperations.*'],
  },
  {
    name: 'a repair executes whatever stands in a cell by then',
    file: 'src/segment/publication_list.cc',
    from: '  const bool is_it = operation->number.LoadRmw() == found.number &&\n                     operation->shard.Acquire() == shard.index() &&\n                     operation->state.Acquire() == OperationState::kPending &&\n                     operation->number.Get() == found.number;',
    to: '  const bool is_it = operation->shard.Acquire() == shard.index() &&\n                     operation->state.Acquire() == OperationState::kPending;',
    tests: ['core_test:PublicationList*'],
  },
  {
    name: 'each shard numbers its operations for itself',
    file: 'src/segment/publication_list.h',
    from: '(uint64_t{shard} << kOrderBits) + order',
    to: '(uint64_t{shard} * 0 << kOrderBits) + order',
    tests: ['core_test:PublicationList.*'],
  },
  {
    name: 'a repair executes what an ended agent has left',
    file: 'src/segment/publication_list.cc',
    from: 'if (operation == nullptr || AgentOf(shard.segment(), *operation).generation == 0) return nullptr;',
    to: 'if (operation == nullptr) return nullptr;',
    tests: ['core_test:PublicationList*'],
  },
  {
    name: 'a reaper does not wait for owners of shards if another reaper has ended the agents',
    file: 'src/core/lock_table.cc',
    from: 'if (is_first_time || is_free_at_last) AddLockedShards(rest.shards);',
    to: 'if (is_first_time) AddLockedShards(rest.shards);',
    tests: ['core_test:ReapProcess*'],
  },
  {
    name: 'an agent that closes forgets what a corrupted shard has lost of it',
    file: 'src/core/lock_table.cc',
    from: 'header.dirty.Acquire() != 0 || ',
    to: '',
    tests: [PUBLICATION_LIST],
  },
  {
    name: 'an agent that closes forgets what a repair has left',
    file: 'src/core/lock_table.cc',
    from: '    if (view.header().dirty.Get() != 0) {\n      ++attempt;\n    } else {\n      has_operations = false;  // entering has executed them\n    }\n',
    to: '    has_operations = false;\n    if (view.header().dirty.Get() != 0) ++attempt;\n',
    tests: [PUBLICATION_LIST],
  },
  {
    name: 'a late reaper cleans up the next owner of the slot',
    file: 'src/core/lock_table.cc',
    from: 'while (!is_later() &&',
    to: 'while ((cleaned != process.generation || !is_later()) &&',
    tests: ['core_test:ReapProcess*'],
  },
  {
    name: 'the answer to an earlier operation counts',
    file: 'src/core/agent.cc',
    from: '  cell.outcome.Set(segment::kRefused | static_cast<uint32_t>(StatusCode::kSegmentBroken));\n',
    to: '',
    tests: [AGENT],
  },
  {
    name: 'an agent that enters a shard does not execute the published operations',
    file: 'src/core/lock_table.cc',
    from: 'if (segment_.shard(shard).publications.Get() != kNoCell) Combine(shard, wake_queue);',
    to: '',
    tests: [PUBLICATION_LIST, SIMULATION],
  },
  {
    name: 'an agent that unlocks a shard does not check the publication list again',
    file: 'src/segment/lock_word.h',
    from: 'if (worker_ != nullptr && HasOperations(segment_->shard(shard_))) {',
    to: 'if (worker_ == nullptr && HasOperations(segment_->shard(shard_))) {',
    tests: [PUBLICATION_LIST],
  },
  {
    name: 'the publication list is executed newest first',
    file: 'src/segment/publication_list.cc',
    from: '    operation->next.Set(next_);\n    next_ = std::exchange(id, older);\n',
    to: '    next_ = next_ == kNoCell ? id : next_;\n    id = older;\n',
    tests: [PUBLICATION_LIST, SIMULATION],
  },
  {
    name: 'a repair executes what has been executed again',
    file: 'src/core/combiner.cc',
    from: 'if (occasion == Occasion::kRepair && AnswerFromRecord(operation, agent)) return true;',
    to: 'if (occasion == Occasion::kRepair && AnswerFromRecord(operation, agent) && id == 0) return true;',
    tests: [PUBLICATION_LIST],
  },
  {
    name: 'a repair forgets the publication list',
    file: 'src/core/lock_table.cc',
    from: '  ExecuteAfterRepair(view, wake_queue, operations);\n',
    to: '',
    tests: [PUBLICATION_LIST],
  },
  {
    name: 'a cell that a repair has executed is used again at once',
    file: 'src/core/agent.cc',
    from: 'CellOf(buffer).state.Acquire() != OperationState::kExecuted;',
    to: 'CellOf(buffer).state.Acquire() != OperationState::kUnused;',
    tests: ['core_test:AgentOperations*', SIMULATION],
  },
  {
    name: 'the end of a request that arrives is forgotten',
    file: 'src/core/agent.cc',
    from: '  cell.argument.Set(operation.request_buffer.id);\n',
    to: '  cell.argument.Set(kNoCell);\n',
    tests: [SIMULATION],
  },
  {
    name: 'a published release does not report a loss',
    file: 'src/core/combiner.cc',
    from: '  operation.ended.Set(is_late ? CellState::kExpired : request->state.Get());\n',
    to: '  operation.ended.Set(CellState::kHeld);\n',
    tests: [PUBLICATION_LIST, SIMULATION],
  },
  {
    name: 'an agent waits for a notice of an operation that was executed at once',
    file: 'src/core/agent.cc',
    from: '  attachment_->FollowCombiner(cell);\n  MarkAnswered();\n',
    to: '  attachment_->FollowCombiner(cell);\n',
    tests: [AGENT],
  },
  {
    name: 'an agent does not read the answers after it has combined',
    file: 'src/core/agent.cc',
    from: '  if (!done.empty()) MarkAnswered();\n',
    to: '',
    tests: [AGENT],
  },
  {
    name: 'a combiner does not execute operations that were published meanwhile',
    file: 'src/core/deferred_entry.cc',
    from: '  if (!is_over_) operations_.push_back(operation);\n',
    to: '  (void)operation;\n',
    tests: [END],
  },
  {
    name: 'an agent does not watch the process that executes its releases',
    file: 'src/core/attachment.cc',
    from: '  (void)worker_->Watch({slot, segment_.process(slot).generation.Acquire()});\n',
    to: '',
    tests: [END],
  },
];

module.exports = { PUBLICATION_BUGS };
