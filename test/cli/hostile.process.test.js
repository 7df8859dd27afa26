'use strict';

const { spawnSync } = require('node:child_process');
const { once } = require('node:events');
const { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync } = require('node:fs');
const { writeFileSync } = require('node:fs');
const { createServer } = require('node:net');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { CommandLine, PROGRAM } = require('../support/cli.js');
const { untilEqual } = require('../support/process-bucket.js');
const { Terminal, hasTmux } = require('../support/terminal.js');

// Odd names, wrong places, outputs that fail, signals: each command says what is wrong, in one
// line, with the documented status, and leaves nothing behind.

let cli;
beforeEach(() => {
  cli = new CommandLine();
});
afterEach(() => cli.close());

/** Every command that opens a bucket, with the least that it needs. */
const COMMANDS = [
  ['ls'],
  ['ls', '--all'],
  ['top', '--once', '--delay', '0.1'],
  ['watch'],
  ['graph'],
  ['exec', 'a lock', 'true'],
  ['steal', 'a lock', '--yes'],
  ['wait', 'a lock'],
  ['dashboard'],
  ['trace', '-', '--seconds', '1'],
];

const ONE_LINE = /^holdfast: [^\n]*\n$/;

describe.each(COMMANDS.map((args) => [args.join(' '), args]))('%s', (_, args) => {
  test('in a place that is wrong, says so and does not continue', () => {
    const relative = cli.run(args, { env: { HOLDFAST_DIR: 'here' } });
    expect(relative).toMatchObject({ status: 64, stderr: expect.stringMatching(ONE_LINE) });
    expect(relative.stderr).toMatch(/not absolute: here/);
    const device = cli.run(args, { env: { HOLDFAST_DIR: '/dev/null' } });
    expect([69, 77]).toContain(device.status);
    expect(device.stderr).toMatch(ONE_LINE);
  });

  test('with a bucket name that cannot be: a wrong argument', () => {
    if (args.includes('--all')) return; // names no bucket
    const { status, stderr } = cli.run([args[0], '--bucket', '../up', ...args.slice(1)]);
    expect(status).toBe(64);
    expect(stderr).toMatch(/'\.\.\/up' is no name for a bucket/);
  });

  test('with a corrupted table: what to do', () => {
    const bucket = path.join(cli.directory, 'default');
    mkdirSync(bucket, { mode: 0o700 });
    writeFileSync(path.join(bucket, 'segment'), Buffer.alloc(70_000, 7), { mode: 0o600 });
    const { status, stderr } = cli.run(args);
    expect(status).toBe(69);
    expect(stderr).toMatch(/remove it: .*default\n$/);
  });
});

// Needs root, to give a directory away.
(process.geteuid() === 0 ? test : test.skip).each(COMMANDS.map((args) => [args.join(' '), args]))(
  '%s in a directory of another user: 77, and whose it is',
  (_, args) => {
    chownSync(cli.directory, 1234, 1234);
    const { status, stderr } = cli.run(args);
    expect(status).toBe(77);
    expect(stderr).toMatch(/belongs to (user 1234|another user)/);
  },
);

test('a directory with spaces and quotes is as good as any', async () => {
  const directory = mkdtempSync(path.join(tmpdir(), "holdfast it's "));
  const env = { HOLDFAST_DIR: directory };
  const { stdout } = cli.run(['exec', 'a lock', '--', 'sh', '-c', 'echo in'], { env });
  expect(stdout).toBe('in\n');
  expect(cli.run(['ls'], { env })).toMatchObject({ status: 0, stdout: '' });
  expect(cli.run(['doctor'], { env }).stdout).toContain(`bucket 'default' in ${directory} `);
  rmSync(directory, { recursive: true });
});

test('folders that are no buckets are not shown as buckets', () => {
  mkdirSync(path.join(cli.directory, 'src', 'segment'), { recursive: true });
  writeFileSync(path.join(cli.directory, 'file'), '');
  const { status, stderr } = cli.run(['ls']);
  expect(status).toBe(69);
  expect(stderr).toMatch(/no lock was used here yet/);
});

describe('doctor finds, and continues after,', () => {
  test('a directory that this user may not look into', () => {
    chmodSync(cli.directory, 0o700);
    const user = process.geteuid() === 0 ? ['setpriv', '--reuid', '65534', '--clear-groups'] : [];
    if (user.length === 0) return; // it is ours: only root can become another user
    const [file, ...args] = [...user, process.execPath, PROGRAM, 'doctor'];
    const { status, stdout } = spawnSync(file, args, {
      encoding: 'utf8',
      env: cli.environment(),
    });
    expect(status).toBe(1);
    expect(stdout).toMatch(/^FAIL {2}.* belongs to user 0, and this is user 65534$/m);
    expect(stdout).toMatch(/^Problems: 1/m);
  });

  test('a directory that is none', () => {
    const { status, stdout } = cli.run(['doctor'], { env: { HOLDFAST_DIR: '/dev/null' } });
    expect(status).toBe(1);
    expect(stdout).toMatch(/^FAIL {2}\/dev\/null is not a directory$/m);
  });
});

test('a directory whose parent does not exist is said to miss it, by each command', () => {
  for (const args of [['exec', 'a', 'true'], ['top', '--once'], ['watch']]) {
    const { status, stderr } = cli.run(['--directory', '/nowhere/at/all', ...args]);
    expect({ status, stderr }).toEqual({
      status: 69,
      stderr: 'holdfast: /nowhere/at does not exist, where the directory of buckets is to be\n',
    });
  }
});

test('ls --all shows no folder whose name no bucket can have', async () => {
  await cli.locks.request('first', () => {}); // makes a bucket
  const folder = path.join(cli.directory, 'b\u001b[2J');
  mkdirSync(folder);
  writeFileSync(path.join(folder, 'segment'), '');
  const { status, stdout, stderr } = cli.run(['ls', '--all']);
  expect(stdout + stderr).not.toContain('\u001b');
  expect(stdout).toBe('bucket default\n');
  expect(status).toBe(0);
});

test('ls --all shows the buckets beside a bucket that cannot be opened', async () => {
  cli.run(['exec', '--bucket', 'broken', 'a', 'true']);
  writeFileSync(path.join(cli.directory, 'broken', 'segment'), 'rubbish');
  const held = await cli.hold('a lock', '--bucket', 'whole');
  const { status, stdout, stderr } = cli.run(['ls', '--all']);
  expect(stdout).toMatch(/^bucket whole\n.*\na lock +held/m);
  expect(stderr).toMatch(/^holdfast: bucket 'broken': the segment file was cut off/m);
  expect(status).toBe(69);
  expect(cli.run(['ls', '--all', '--json'])).toMatchObject({
    status: 69,
    stdout: expect.stringMatching(/^\{"bucket":"whole",.*\}\n$/),
  });
  await held.closeInput();
});

/** The errors of a command that reads. It has ended, because nothing answers. */
async function errorsOf(command, url) {
  expect(await command.ended).toEqual({ status: 69, signal: null });
  expect(command.errors).toContain(`no answer from ${url} in 5 s: `);
  return command.errors;
}

describe('a URL', () => {
  test('locks of one program only are refused: they would exclude no other', () => {
    for (const args of [['ls'], ['exec', 'a', 'true'], ['doctor'], ['top', '--once'], ['bench']]) {
      const { status, stderr } = cli.run([...args], { env: { HOLDFAST_URL: 'local:' } });
      expect({ status, stderr }).toEqual({
        status: 64,
        stderr: expect.stringMatching(/^holdfast: local: is the table of one thread/),
      });
    }
  });

  test('a place that does not answer is reported, and only a command that waits continues', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const causes = [
      ['etcd://127.0.0.1:1', /: etcd is not reached: .*ECONNREFUSED/],
      [`etcd://127.0.0.1:${silent.address().port}`, /: etcd (is not reached: |has not answered)/],
      ['postgres://me@127.0.0.1:1/app', /: PostgreSQL is not reached: .*ECONNREFUSED/],
    ];
    try {
      const startAll = (name) =>
        causes.map(([url, cause]) => {
          const start = () => cli.start([name, '--url', url]);
          return { url, cause, start, command: start() };
        });
      const reading = ['ls', 'top', 'graph', 'bench'].flatMap(startAll);
      const doctors = startAll('doctor');
      const waiting = cli.start(['exec', '--url', causes[0][0], 'a', 'true']);
      for (const { url, cause, start, command } of reading) {
        let errors = await errorsOf(command, url);
        // All of them start at once: on a busy machine one may have no answer yet.
        while (/has not answered$/m.test(errors) && !cause.test(errors)) {
          errors = await errorsOf(start(), url);
        }
        expect(errors).toMatch(cause);
      }
      for (const { command } of doctors) {
        expect(await command.ended).toEqual({ status: 1, signal: null });
        expect(await command.line(/^FAIL {2}127\.0\.0\.1:\d+( is not reached)?: /)).toBeDefined();
      }
      while (!/still trying: .*ECONNREFUSED/.test(waiting.errors)) {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      waiting.kill('SIGKILL');
    } finally {
      silent.close();
    }
  });

  test.each(['shm:///%zz', 'shm://host/directory', 'shm:///a?b', 'nonsense', 'foo:', 'local:x'])(
    '%s is a wrong argument',
    (url) => {
      expect(cli.run(['ls', '--url', url])).toMatchObject({
        status: 64,
        stderr: expect.stringMatching(ONE_LINE),
      });
    },
  );

  test.each(['shm://', 'shm:'])(
    '%s names the directory that a program finds by it',
    async (scheme) => {
      await cli.holdHere('a lock');
      const env = { HOLDFAST_DIR: '/no/such' };
      const url = `${scheme}${cli.directory}`;
      expect(cli.run(['ls', '--url', url], { env }).stdout).toMatch(/^a lock +held/m);
      const all = cli.run(['ls', '--all'], { env: { ...env, HOLDFAST_URL: url } });
      expect(all.stdout).toMatch(/^bucket default\n[^]*^a lock +held/m);
    },
  );

  test('that is not of shared memory has no list of buckets', () => {
    expect(cli.run(['ls', '--all', '--url', 'local:']).status).toBe(64);
  });
});

describe('arguments', () => {
  test.each([
    ['a reserved name', ['exec', '--', '-x', 'true'], /reserved/],
    ['an empty directory', ['ls', '--directory', ''], /It is empty/],
    ['a wait of a year', ['exec', '-w', '31536000', 'x', 'true'], /at most 2147483 seconds/],
    ['no command', ['exec', 'x', '--'], /which command\?/],
    ['an option that the command has not', ['--json', 'exec', 'x', 'true'], /has no option --json/],
    ['a trace and JSON in one output', ['trace', '-', '--json'], /standard output/],
  ])('%s: 64, and why', (_, args, why) => {
    const { status, stderr } = cli.run(args);
    expect(status).toBe(64);
    expect(stderr).toMatch(why);
  });

  test('options before the command are for the command', async () => {
    await cli.hold('a lock', '--bucket', 'other');
    const { stdout } = cli.run(['--json', '--bucket', 'other', 'ls']);
    expect(JSON.parse(stdout)).toMatchObject({ bucket: 'other', name: 'a lock' });
    const nearer = cli.run(['--bucket', 'nowhere', 'ls', '--bucket', 'other']);
    expect(nearer.stdout).toMatch(/^a lock +held/m);
  });

  test('--json of wait and trace', async () => {
    await cli.locks.request('first', () => {}); // makes the bucket
    expect(cli.json(['wait', 'a lock'])).toEqual([{ name: 'a lock', isFree: true }]);
    const file = path.join(cli.directory, 'trace.json');
    expect(cli.json(['trace', file, '--seconds', '0.1'])).toEqual([{ file, events: 0, missed: 0 }]);
  });

  test('a name of 100,000 letters does not widen the rows of the others', async () => {
    await cli.holdHere('x'.repeat(100_000));
    await cli.holdHere('a lock');
    const lines = cli.run(['ls']).stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[1]).toMatch(/^a lock +held/);
    expect(lines[1].length).toBeLessThan(500);
    expect(lines[2]).toContain('x'.repeat(100_000));
  });
});

describe('an output that cannot be written', () => {
  test.each([
    [['ls', '--help']],
    [['doctor']],
    [['completion', 'zsh']],
    [['trace', '-', '--seconds', '0.1']],
  ])('%j on a full disk: 74, without a stack', async (args) => {
    await cli.locks.request('first', () => {}); // makes the bucket
    const script = '"$@" > /dev/full';
    const { status, stderr } = spawnSync(
      'sh',
      ['-c', script, 'sh', process.execPath, PROGRAM, ...args],
      { encoding: 'utf8', env: cli.environment() },
    );
    expect(status).toBe(74);
    expect(stderr).toMatch(/^holdfast: standard output: .*no space left[^\n]*\n$/);
  });

  test.each(['/no/such/folder/x.json', '/dev/full', '/'])(
    'trace to %s ends, however long it was to record',
    async (file) => {
      await cli.holdHere('a lock'); // there is something to write
      const trace = cli.start(['trace', file]);
      expect(await trace.ended).toEqual({ status: 74, signal: null });
      expect(trace.errors).toMatch(ONE_LINE);
    },
  );
});

describe('a signal', () => {
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'])(
    '%s ends bench, which leaves nothing',
    async (signal) => {
      const own = mkdtempSync(path.join(tmpdir(), 'holdfast-cli-bench-'));
      const bench = cli.start(['bench', '--directory', own]);
      await untilEqual(() => readdirSync(own).length, 1);
      await untilEqual(() => readdirSync(path.join(own, readdirSync(own)[0])).length, 1);
      expect(await bench.kill(signal).ended).toEqual({ status: null, signal });
      expect(readdirSync(own)).toEqual([]);
      rmSync(own, { recursive: true });
    },
  );

  test.each([
    ['watch', ['watch']],
    ['wait', ['wait', 'a lock']],
    ['exec, waiting', ['exec', 'a lock', 'true']],
  ])('ends %s, which leaves no request', async (_, args) => {
    await cli.holdHere('a lock');
    const before = (await cli.locks.inspect()).held.length;
    const running = cli.start(args);
    if (args[0] !== 'watch') {
      await untilEqual(async () => (await cli.locks.query()).pending.length, 1);
    }
    expect(await running.kill('SIGINT').ended).toEqual({ status: null, signal: 'SIGINT' });
    await untilEqual(async () => (await cli.locks.query()).pending.length, 0);
    expect((await cli.locks.inspect()).held).toHaveLength(before);
  });

  test('while it records makes the trace whole', async () => {
    await cli.holdHere('a lock');
    const trace = cli.start(['trace', '-']);
    await trace.line(/hold a lock/);
    expect(await trace.kill('SIGINT').ended).toEqual({ status: 0, signal: null });
    expect(await trace.line(/^\]\}$/)).toBe(']}');
  });
});

(hasTmux ? describe : describe.skip)('a terminal of 20 columns', () => {
  let terminal;
  afterEach(() => terminal?.close());

  test.each([[['ls']], [['graph']], [['exec', '--help']], [['top']]])(
    '%j works in it',
    async (args) => {
      await cli.holdHere('a lock with a name that is longer than the terminal is wide');
      await cli.holdHere('another');
      const command = [process.execPath, PROGRAM, ...args];
      const env = { HOLDFAST_DIR: cli.directory };
      terminal = new Terminal(command, { columns: 20, rows: 24, env });
      await terminal.shows(args[0] === 'top' ? /^q quit/m : /status 0/);
      for (const line of terminal.lines()) expect(line.length).toBeLessThanOrEqual(20);
    },
  );
});
