'use strict';

// Mistakes in what keeps a process from dying of its files, and from taking the living for dead:
// holes, descriptors that are closed or reused, corrupted words, threads that spin, children,
// sweeps.

const SLOT_LOCK = 'platform_test:SlotLockTest*';
const REPAIR = 'segment_test:Repair*';
const SWEEP = 'core_test:SweepTest*';

/** @type {import('./planted-bugs.js').PlantedBug[]} */
const PLATFORM_BUGS = [
  {
    name: 'a slot lock whose number another opening has is taken for the own one',
    file: 'src/platform/slot_lock.cc',
    from: 'return !is_of_another.ok() || !*is_of_another;',
    to: 'return !is_of_another.ok() || *is_of_another || !*is_of_another;',
    tests: [SLOT_LOCK],
  },
  {
    name: 'a slot lock that was closed is taken for intact',
    file: 'src/platform/slot_lock.cc',
    from: 'return errno != EBADF;',
    to: 'return true;',
    tests: [SLOT_LOCK],
  },
  {
    name: 'a closed epoll instance is waited for again and again',
    file: 'src/platform/death_watch.cc',
    from: 'return errno == EINTR ? 0 : -1;',
    to: 'return 0;',
    tests: ['platform_test:DeathWatchTest*'],
  },
  {
    name: 'a doorbell takes all the pages of a pipe',
    file: 'src/platform/doorbell.cc',
    from: '  (void)fcntl(fifo->get(), F_SETPIPE_SZ, kFifoBytes);\n',
    to: '  (void)kFifoBytes;\n',
    tests: ['platform_test:DoorbellTest*'],
  },
  {
    name: 'an extent without memory is read',
    file: 'src/segment/backing.cc',
    from: 'if (allocated.code() == StatusCode::kNoSpace) return false;',
    to: '(void)allocated;',
    tests: ['segment_test:BackingTest*'],
  },
  {
    name: 'holes of the fixed part are not filled',
    file: 'src/platform/bucket_directory.cc',
    from: '  const Status allocated = file->Allocate(0, init.fixed_bytes(file->size()));\n  if (!allocated.ok()) return allocated;\n',
    to: '',
    tests: ['platform_test:FullFileSystemTest*'],
  },
  {
    name: 'a file with holes where none belong is a segment',
    file: 'src/platform/bucket_directory.cc',
    from: 'if (allocated < init.fixed_bytes(size)) {',
    to: 'if (allocated == UINT64_MAX) {',
    tests: ['platform_test:*SegmentOpening*'],
  },
  {
    name: 'the descriptors of a parent stay open in its child',
    file: 'src/platform/fork_guard.cc',
    from: 'if (harmless == -1 || dup3(harmless, fd, O_CLOEXEC) == -1) close(fd);',
    to: '(void)fd;',
    tests: ['platform_test:ForkGuard*'],
  },
  {
    name: 'the corrupted life of a holder is not restored',
    file: 'src/segment/repair.cc',
    from: '  if (request.process_generation.Get() != generation) request.process_generation.Set(generation);\n',
    to: '  (void)request;\n  (void)generation;\n',
    tests: [REPAIR],
  },
  {
    name: 'a repair believes a token that cannot be',
    file: 'src/segment/repair.cc',
    from: 'read.ticket < kTicketLimit && read.token < kTokenLimit &&',
    to: 'read.ticket < kTicketLimit &&',
    tests: [REPAIR],
  },
  {
    name: 'the last token is believed whatever it is',
    file: 'src/segment/repair.cc',
    from: 'if (corrupted < kFirstToken || corrupted >= kTokenLimit) {',
    to: 'if (corrupted == 0) {',
    tests: [REPAIR],
  },
  {
    name: 'the first word of the id is believed alone',
    file: 'src/segment/segment.cc',
    from: 'return copy == h.segment_id_copies[1].Get() && copy != 0 ? copy : id;',
    to: 'return copy == 0 ? copy : id;',
    tests: ['segment_test:SegmentId*'],
  },
  {
    name: 'the seventeenth notice wakes 64 agents',
    file: 'src/core/wake_queue.cc',
    from: 'many_[agent / kBits] |= uint64_t{1} << agent % kBits;',
    to: 'many_[agent / kBits] = ~uint64_t{0};',
    tests: ['core_test:WakeQueueTest*'],
  },
  {
    name: 'a lock without a record counts as released',
    file: 'src/core/agent.cc',
    from: 'if (ended == CellState::kFree) return Loss::kCorrupted;',
    to: 'if (ended == CellState::kFree) return Loss::kNone;',
    tests: ['core_test:AgentBiased*'],
  },
  {
    name: 'the ring for an announced sleep is drained',
    file: 'src/core/agent.cc',
    from: '  if (!HasEvents()) return true;\n  entry_.sleeping.Exchange(0);',
    to: '  const bool sleeps = !HasEvents();\n  doorbell_.Drain();\n  if (sleeps) return true;\n  entry_.sleeping.Exchange(0);',
    tests: ['simulation_test'],
  },
  {
    name: 'a doorbell is not drained',
    file: 'src/core/agent.cc',
    from: 'if (std::exchange(is_rung_, false)) doorbell_.Drain();',
    to: 'is_rung_ = false;',
    tests: ['core_test:AgentPoll*'],
  },
  {
    name: 'a doorbell is not drained after a blocking wait',
    file: 'src/core/agent.cc',
    from: '    WakeUp();\n    OnDoorbellRung();\n',
    to: '    WakeUp();\n',
    tests: ['core_test:AgentPoll*'],
  },
  {
    name: 'a marked file is believed to be there',
    file: 'src/platform/known_fd.cc',
    from: 'if (mark_ != kNoMark && MarkOf(fd_.get()) == mark_) return true;',
    to: 'if (mark_ != kNoMark) return true;',
    tests: ['platform_test:KnownFd*'],
  },
  {
    name: 'a write that is refused a flag is not made again',
    file: 'src/platform/doorbell.cc',
    from: 'if (written != -1 || IsOfAFifo(errno)) return written;',
    to: 'if (written != -1 || IsOfAFifo(errno) || errno != 0) return written;',
    tests: ['platform_test:*Sigpipe*'],
  },
  {
    name: 'a sweep asks the kernel for all processes',
    file: 'src/core/sweep.cc',
    from: 'constexpr uint32_t kChecksPerSweep = 16;',
    to: 'constexpr uint32_t kChecksPerSweep = UINT32_MAX;',
    tests: [SWEEP],
  },
  {
    name: 'sweeps continue when no request waits',
    file: 'src/core/sweep.cc',
    from: 'is_idle_.store(true);',
    to: 'is_idle_.store(false);',
    tests: [SWEEP],
  },
  {
    name: 'each sweep asks for the same processes',
    file: 'src/core/dead_process_finder.cc',
    from: 'next_slot_.store(slot + 1,',
    to: 'next_slot_.store(0,',
    tests: [SWEEP],
  },
  {
    name: 'a forked child keeps what other threads of its parent had locked',
    file: 'src/platform/fork_guard.cc',
    from: '      each->reset_();\n',
    to: '      (void)each->reset_;\n',
    tests: ['platform_test:ForkGuard*'],
  },
  {
    name: 'a bucket opens although the system does not report which processes live',
    file: 'src/core/process_slots.cc',
    from: '  if (!is_claimed.ok()) return is_claimed.status();\n',
    to: '  (void)is_claimed;\n',
    tests: ['core_test:*RefusedLocks*'],
  },
  {
    name: 'a thread that is stopped reaps all the dead',
    file: 'src/core/peer_monitor.cc',
    from: '!is_stopping.load() && IsSettled(suspect, was_dead)',
    to: 'IsSettled(suspect, was_dead)',
    tests: ['core_test:BackgroundWorker*'],
  },
];

module.exports = { PLATFORM_BUGS };
