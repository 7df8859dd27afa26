'use strict';

const { spawnSync } = require('node:child_process');
const { chmodSync, chownSync, copyFileSync, readFileSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { CommandLine, PROGRAM } = require('../support/cli.js');
const { untilEqual } = require('../support/process-bucket.js');

// `holdfast exec` stands where flock(1) stood: the two run side by side.

let cli;
beforeEach(() => {
  cli = new CommandLine();
});
afterEach(() => cli.close());

const lockFile = () => path.join(cli.directory, 'lock-file');

/** The result of flock(1) with the same arguments. */
function flock(args, input = '') {
  const { status, stdout } = spawnSync('flock', args, { encoding: 'utf8', input });
  return { status, stdout };
}

/** The results of both that the caller sees: the exit status and the output. */
function both(options, command, input = '') {
  const { status, stdout } = cli.run(['exec', ...options, 'lock', ...command], { input });
  return [{ status, stdout }, flock([...options, lockFile(), ...command], input)];
}

describe('a free lock: the same exit status and output as flock', () => {
  test.each([
    ['success', [], ['echo', 'a  b', '$HOME']],
    ['a status', [], ['sh', '-c', 'exit 7']],
    ['the largest status', [], ['sh', '-c', 'exit 255']],
    ['SIGKILL', [], ['sh', '-c', 'kill -9 $$']],
    ['SIGTERM', [], ['sh', '-c', 'kill -15 $$']],
    ['a shell command', [], ['-c', 'echo one; exit 3']],
    ['options of the command', [], ['ls', '-d', '/']],
    ['input', [], ['cat'], 'line 1\nline 2\n'],
    ['a command that is not there', [], ['/no/such/command']],
    ['an empty command', [], ['']],
    ['a directory', [], ['/']],
    ['-n', ['-n'], ['echo', 'x']],
    ['-w', ['-w', '5'], ['echo', 'x']],
    ['--timeout and a fraction', ['--timeout', '.5'], ['echo', 'x']],
    ['-s', ['-s'], ['echo', 'x']],
    ['-F', ['-F'], ['sh', '-c', 'exit 3']],
    ['-x -o', ['-x', '-o'], ['echo', 'x']],
    ['long names', ['--exclusive', '--close', '--nb'], ['true']],
  ])('%s', (...row) => {
    const [, options, command, input = ''] = row;
    const [ours, theirs] = both(options, command, input);
    expect(ours).toEqual(theirs);
  });
});

test('a command that the system does not start, as it is too long, is no fault of holdfast', () => {
  const name = 'n'.repeat(131_060); // a longer argument is refused before holdfast starts
  const { status, stderr } = cli.run(['exec', name, 'true']);
  expect(stderr).toBe(
    'holdfast: exec: true: its arguments, or the name of the lock in its environment, are too long\n',
  );
  expect(status).toBe(69);
});

describe('wrong arguments: the same exit status as flock', () => {
  test.each([
    ['no arguments', []],
    ['an unknown option', ['--nonsense', 'lock', 'true']],
    ['a time that is none', ['-w', 'soon', 'lock', 'true']],
    ['an exit status that is none', ['-E', '256', 'lock', 'true']],
    ['-F and -o, which exclude each other', ['-F', '-o', 'lock', 'true']],
    ['two shell commands', ['lock', '-c', 'true', 'false']],
  ])('%s', (_, args) => {
    expect(cli.run(['exec', ...args]).status).toBe(64);
    expect(flock(args).status).toBe(64);
  });
});

// There a lock is of a file, and lives as long as its descriptor.
describe('the options of flock for files and descriptors are refused, with what to do instead', () => {
  test.each([
    ['a descriptor', ['9']],
    ['-n and a descriptor', ['-n', '9']],
    ['-u', ['-u', '9']],
    ['--fd', ['--fd', '9', 'true']],
    ['--fcntl', ['--fcntl', 'lock', 'true']],
    ['--start and --length', ['--start', '0', '--length', '1', 'lock', 'true']],
  ])('%s', (_, args) => {
    const { status, stderr } = cli.run(['exec', ...args]);
    expect(status).toBe(64);
    expect(stderr).toMatch(/is about a file.*: holdfast exec NAME -- COMMAND…/);
  });

  test('a number before a command is a name, as it is a file for flock', () => {
    const ours = cli.run(['exec', '9', 'echo', 'x']);
    const options = { cwd: cli.directory, encoding: 'utf8' };
    const theirs = spawnSync('flock', ['9', 'echo', 'x'], options);
    expect([ours.status, ours.stdout]).toEqual([theirs.status, theirs.stdout]);
  });
});

describe('a taken lock', () => {
  let holder;
  let theirHolder;
  beforeEach(async () => {
    holder = await cli.hold('lock');
    theirHolder = cli.start([lockFile(), 'sh', '-c', 'echo held; cat'], { program: ['flock'] });
    await theirHolder.line(/held/);
  });

  test.each([
    ['-n', ['-n'], 1],
    ['--nonblocking and -E', ['--nonblocking', '-E', '123'], 123],
    ['-E 0', ['-n', '-E', '0'], 0],
    ['-w', ['-w', '0.05'], 1],
    ['-w 0', ['-w', '0', '-E', '9'], 9],
    ['-s', ['-s', '-n'], 1],
  ])('%s ends as with flock, and the command does not run', (_, options, status) => {
    const [ours, theirs] = both(options, ['echo', 'You will never see this!']);
    expect(ours).toEqual({ status, stdout: '' });
    expect(theirs).toEqual(ours);
  });

  test('the command runs when the lock is free', async () => {
    const waiting = cli.start(['exec', 'lock', 'echo', 'mine']);
    await untilEqual(async () => (await cli.locks.query()).pending.length, 1);
    await holder.closeInput();
    expect(await waiting.line()).toBe('mine');
    expect(await waiting.ended).toEqual({ status: 0, signal: null });
  });

  test('--priority orders the commands that wait', async () => {
    const log = path.join(cli.directory, 'log');
    const waiting = [];
    for (const priority of ['background', undefined, 'user-blocking']) {
      const options = priority === undefined ? [] : ['--priority', priority];
      const script = `echo ${priority ?? 'plain'} >> ${log}`;
      waiting.push(cli.start(['exec', ...options, 'lock', '-c', script]));
      await untilEqual(async () => (await cli.locks.query()).pending.length, waiting.length);
    }
    await holder.closeInput();
    const ends = await Promise.all(waiting.map(({ ended }) => ended));
    expect(ends).toEqual(ends.map(() => ({ status: 0, signal: null })));
    expect(readFileSync(log, 'utf8')).toBe('user-blocking\nplain\nbackground\n');
  });

  test('a command that is killed while it waits does not run its program', async () => {
    const waiting = cli.start(['exec', 'lock', 'echo', 'mine']);
    await untilEqual(async () => (await cli.locks.query()).pending.length, 1);
    expect(await waiting.kill('SIGTERM').ended).toEqual({ status: null, signal: 'SIGTERM' });
    await holder.closeInput();
    expect(await waiting.line()).toBeUndefined();
    await untilEqual(() => cli.locks.query(), { held: [], pending: [] });
  });
});

test('shared commands run beside each other, an exclusive one does not', async () => {
  await cli.hold('lock', '--shared');
  expect(cli.run(['exec', '-s', '-n', 'lock', 'echo', 'x']).stdout).toBe('x\n');
  expect(cli.run(['exec', '-n', 'lock', 'echo', 'x']).status).toBe(1);
});

test.each(['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGUSR1', 'SIGUSR2'])(
  '%s reaches the command, which may answer as it likes',
  async (signal) => {
    const name = signal.slice('SIG'.length);
    const answer = `trap 'echo got ${name}; exit 5' ${name}`;
    const script = `${answer}; echo ready; while :; do sleep 0.05; done`;
    const running = cli.start(['exec', 'lock', '--', 'sh', '-c', script]);
    await running.line(/ready/);
    running.kill(signal);
    expect(await running.line(/got/)).toBe(`got ${name}`);
    expect(await running.ended).toEqual({ status: 5, signal: null });
    expect(cli.locks.isLocked('lock')).toBe(false);
  },
);

test('the command knows the lock and its fencing token, and others see its label', async () => {
  const script = 'echo "$HOLDFAST_LOCK $HOLDFAST_TOKEN"; cat';
  const running = cli.start(['exec', '-l', 'nightly', 'a lock', '--', 'sh', '-c', script]);
  const line = await running.line(/a lock/);
  const { held } = await cli.locks.inspect();
  expect(held).toMatchObject([{ name: 'a lock', label: 'nightly' }]);
  expect(line).toBe(`a lock ${held[0].token}`);
  await running.closeInput();
});

describe('death of either side', () => {
  test('the lock is free when the command is killed', async () => {
    const running = cli.start(['exec', 'lock', '--', 'sh', '-c', 'echo $$; exec cat']);
    process.kill(Number(await running.line()), 'SIGKILL');
    expect(await running.ended).toEqual({ status: 137, signal: null });
    expect(cli.locks.isLocked('lock')).toBe(false);
  });

  /** A command that keeps running whatever becomes of its input; returns its process id. */
  const startSleeper = async (...options) => {
    const sleeper = ['sh', '-c', 'echo $$; exec sleep 1000'];
    const running = cli.start(['exec', ...options, 'lock', '--', ...sleeper]);
    return { running, pid: Number(await running.line()) };
  };

  test('the lock stays held when holdfast is killed, until its command has ended', async () => {
    const { running, pid } = await startSleeper();
    running.kill('SIGKILL');
    await untilEqual(async () => (await cli.locks.inspect()).held[0]?.processState, 'gone');
    expect(cli.run(['exec', '-n', 'lock', 'true']).status).toBe(1);
    const waiting = cli.start(['exec', 'lock', 'echo', 'mine']);
    await untilEqual(async () => (await cli.locks.query()).pending.length, 1);
    process.kill(pid, 'SIGKILL');
    expect(await waiting.line()).toBe('mine');
    await waiting.ended;
  });

  test('with --close the lock is free at once', async () => {
    const { running, pid } = await startSleeper('--close');
    running.kill('SIGKILL');
    const { status, stdout } = cli.run(['exec', 'lock', 'echo', 'mine']);
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'mine\n' });
    process.kill(pid, 'SIGKILL');
  });
});

describe('a reader that has gone does not change the status of the command', () => {
  test.each([
    ['of the standard output', ['--verbose'], '>&4'],
    ['of the standard error, over a broker', ['--url', 'broker:'], '2>&4'],
  ])('%s', async (_, options, redirection) => {
    const script = `mkfifo "$1" && exec 3<>"$1" 4>"$1" 3<&-; shift; "$@" ${redirection}; echo $?`;
    const program = ['bash', '-c', script, 'bash', path.join(cli.directory, 'fifo')];
    const exec = [process.execPath, PROGRAM, 'exec', ...options];
    const command = ['lock', '--', 'sh', '-c', 'exit 3'];
    const running = cli.start([...exec, ...command], { program });
    expect(await running.line()).toBe('3');
    await running.ended;
  });
});

const testAsRoot = process.geteuid() === 0 ? test : test.skip;

testAsRoot('a command of another user, which gets no signals, keeps its status', async () => {
  const user = 64_125; // not in use
  const become = path.join(cli.directory, 'become');
  copyFileSync(spawnSync('which', ['setpriv'], { encoding: 'utf8' }).stdout.trim(), become);
  chmodSync(become, 0o4755);
  chownSync(cli.directory, user, user);
  const program = ['setpriv', '--reuid', `${user}`, '--regid', `${user}`, '--clear-groups'];
  const asRoot = [become, '--reuid', '0', 'sh', '-c', 'echo ready; read line; exit 5'];
  const running = cli.start(['exec', 'lock', '--', ...asRoot], {
    program: [...program, process.execPath, PROGRAM],
  });
  await running.line(/ready/);
  running.kill('SIGTERM');
  await untilEqual(() => /a signal was not passed on/.test(running.errors), true);
  running.write('\n');
  expect(await running.ended).toEqual({ status: 5, signal: null });
});

describe('a lock that is taken away', () => {
  const script = "trap 'echo ended; exit 4' TERM; echo ready; while :; do sleep 0.05; done";

  test('ends the command', async () => {
    const running = cli.start(['exec', 'lock', '--', 'sh', '-c', script]);
    await running.line(/ready/);
    await cli.locks.request('lock', { steal: true }, () => {});
    expect(await running.line()).toBe('ended');
    expect(await running.ended).toEqual({ status: 4, signal: null });
    expect(running.errors).toMatch(/the command is still running: it is ended/);
  });

  test('or lets it continue, with --on-loss continue', async () => {
    const loop = 'echo ready; read line; echo $line';
    const running = cli.start(['exec', '--on-loss', 'continue', 'lock', '--', 'sh', '-c', loop]);
    await running.line(/ready/);
    await cli.locks.request('lock', { steal: true }, () => {});
    await untilEqual(() => /continues without the lock/.test(running.errors), true);
    running.write('still here\n');
    expect(await running.line()).toBe('still here');
    expect(await running.ended).toEqual({ status: 0, signal: null });
  });
});

test('many processes that count in one file under the lock lose no count', async () => {
  const file = path.join(cli.directory, 'count');
  writeFileSync(file, '0');
  const [writers, rounds] = [4, 5];
  const script = `n=$(cat '${file}'); sleep 0.01; echo $((n + 1)) > '${file}'`;
  const count = async () => {
    for (let i = 0; i < rounds; i += 1) {
      await cli.start(['exec', 'count', '-c', script], { env: { SHELL: '/bin/sh' } }).ended;
    }
  };
  await Promise.all(Array.from({ length: writers }, count));
  expect(readFileSync(file, 'utf8')).toBe(`${writers * rounds}\n`);
});

describe('HOLDFAST_FALLBACK=local is for programs: a command does not use it', () => {
  const run = (args, env = {}) => cli.run(args, { env: { HOLDFAST_FALLBACK: 'local', ...env } });

  test('exec takes the lock in shared memory', async () => {
    const handle = await cli.locks.acquire('a');
    expect(run(['exec', '-n', 'a', '--', 'echo', 'x'])).toMatchObject({ status: 1, stdout: '' });
    handle.release();
    const { status, stdout, stderr } = run(['exec', '-n', 'a', '--', 'echo', 'x']);
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: 'x\n', stderr: '' });
  });

  test('without the native part exec runs nothing, and doctor says why', () => {
    const without = { NODE_OPTIONS: '--no-addons' };
    const { status, stdout, stderr } = run(['exec', 'a', '--', 'echo', 'x'], without);
    expect({ status, stdout }).toEqual({ status: 69, stdout: '' });
    expect(stderr).toMatch(/cannot be loaded .* Start Node without --no-addons/);
    const { status: found, stdout: findings } = run(['doctor'], without);
    expect(found).toBe(1);
    expect(findings).toMatch(/FAIL +the native part cannot be used/);
  });
});

describe('over a broker, where a command keeps no lock after the tool was killed', () => {
  const url = () => `broker://${cli.directory}`;
  const NOTE = /if holdfast itself is killed here .* the lock becomes free/;

  test('exec says so before it runs the command', () => {
    const { status, stdout, stderr } = cli.run(['exec', '--url', url(), 'a', '--', 'echo', 'x']);
    expect({ status, stdout }).toEqual({ status: 0, stdout: 'x\n' });
    expect(stderr).toMatch(NOTE);
  });

  test('-o asks for just that, and exec says nothing', () => {
    const { stderr } = cli.run(['exec', '-o', '--url', url(), 'a', '--', 'echo', 'x']);
    expect(stderr).toBe('');
  });
});
