'use strict';

const { mkdirSync, readFileSync, rmdirSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { CommandLine, PROGRAM } = require('../support/cli.js');
const { FORKED, describeInside } = require('../support/namespaces.js');
const { untilEqual } = require('../support/process-bucket.js');

// The output of `inspect()` and `holdfast ls` about a holder whose process does not run.

let cli;
beforeEach(() => {
  cli = new CommandLine();
});
afterEach(() => cli.close());

const stateOfHolder = async () => (await cli.locks.inspect()).held[0]?.processState;

/** inspect() says so, and so does `ls`, with the process. */
async function expectState(state, pid) {
  await untilEqual(stateOfHolder, state);
  const [, row] = cli.run(['ls', 'a lock']).stdout.split('\n');
  expect(row).toMatch(new RegExp(`^a lock +held, ${state} +exclusive .* ${pid} `));
}

test('stopped by a signal', async () => {
  const holder = await cli.hold('a lock');
  expect(await stateOfHolder()).toBe('running');
  holder.kill('SIGSTOP');
  await expectState('stopped', holder.pid);
  holder.kill('SIGCONT');
  await untilEqual(stateOfHolder, 'running');
});

test('traced: a debugger has stopped it', async () => {
  // Starts the holder, so that it may trace it on every system; attaching stops it.
  const debuggerOf = `
import ctypes, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
PTRACE_ATTACH = 16
refused = ctypes.CDLL(None).ptrace(PTRACE_ATTACH, child.pid, 0, 0)
print('refused' if refused else child.pid, flush=True)
sys.stdin.readline()
child.kill()`;
  const holder = [process.execPath, PROGRAM, 'exec', 'a lock', 'sh', '-c', 'echo held; cat'];
  const tracer = cli.start([], { program: ['python3', '-c', debuggerOf, ...holder] });
  const pid = await tracer.line();
  expect(pid).toMatch(/^\d+$/);
  await expectState('traced', pid);
  await tracer.closeInput();
  await untilEqual(stateOfHolder, undefined);
});

test('zombie: ended, its parent has not noticed, and its command keeps the lock', async () => {
  // The shell becomes a program that never asks how its child has ended.
  const command = "sh -c 'echo command $$; exec sleep 1000'";
  const script = `"$0" "$1" exec 'a lock' ${command} & echo holder $!; exec sleep 1000`;
  const parent = cli.start([], { program: ['sh', '-c', script, process.execPath, PROGRAM] });
  const pid = Number((await parent.line(/^holder/)).split(' ')[1]);
  const commandPid = Number((await parent.line(/^command/)).split(' ')[1]);
  process.kill(pid, 'SIGKILL');
  await expectState('zombie', pid);
  process.kill(commandPid, 'SIGKILL');
  await untilEqual(stateOfHolder, undefined);
});

/** A control group of our own that can be frozen; undefined where this user may not have one. */
function createFreezer() {
  const name = `holdfast-test-${process.pid}`;
  const kinds = [
    { at: '/sys/fs/cgroup', file: 'cgroup.freeze', on: '1', off: '0' },
    { at: '/sys/fs/cgroup/unified', file: 'cgroup.freeze', on: '1', off: '0' },
    { at: '/sys/fs/cgroup/freezer', file: 'freezer.state', on: 'FROZEN', off: 'THAWED' },
  ];
  for (const { at, file, on, off } of kinds) {
    const group = path.join(at, name);
    try {
      mkdirSync(group);
    } catch {
      continue; // not this user
    }
    try {
      writeFileSync(path.join(group, file), off, { flag: 'r+' });
    } catch {
      rmdirSync(group);
      continue; // not this kind
    }
    const write = (to, text) => writeFileSync(path.join(group, to), text);
    return {
      freeze: (pid) => (write('cgroup.procs', String(pid)), write(file, on)),
      thaw: () => write(file, off),
      remove: () => rmdirSync(group),
    };
  }
  return undefined;
}

const freezer = createFreezer();
afterAll(() => freezer?.remove());
// Skipped where this user may not make a control group.
(freezer ? test : test.skip)('frozen, as a paused container is', async () => {
  const holder = await cli.hold('a lock');
  freezer.freeze(holder.pid);
  try {
    await expectState('frozen', holder.pid);
  } finally {
    freezer.thaw();
  }
  await untilEqual(stateOfHolder, 'running');
  await holder.kill('SIGTERM').ended;
});

const WITH_THE_PROC_OF_BEFORE = ['unshare', '--pid', ...FORKED];

describeInside(WITH_THE_PROC_OF_BEFORE, 'with the /proc of another PID namespace', () => {
  test('trace shows no commands: the process ids in /proc belong to other processes', async () => {
    const file = path.join(cli.directory, 'trace.json');
    const trace = [process.execPath, PROGRAM, 'trace', file, '--seconds', '1'];
    const holder = [process.execPath, PROGRAM, 'exec', 'a lock', ...trace];
    const { ended } = cli.start([], { program: [...WITH_THE_PROC_OF_BEFORE, ...holder] });
    expect(await ended).toEqual({ status: 0, signal: null });
    const { traceEvents } = JSON.parse(readFileSync(file, 'utf8'));
    const names = traceEvents.filter(({ name, pid }) => name === 'process_name' && pid === 1);
    expect(names.map(({ args }) => args.name)).toEqual(['']);
  });
});
