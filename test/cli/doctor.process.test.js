'use strict';

const { chmodSync, mkdirSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { checkHolders } = require('../../lib/cli/doctor.js');
const { CommandLine, PROGRAM } = require('../support/cli.js');
const { describeInside } = require('../support/namespaces.js');
const { untilEqual } = require('../support/process-bucket.js');

let cli;
beforeEach(() => {
  cli = new CommandLine();
});
afterEach(() => cli.close());

/** The findings of a level, as text. */
const titles = (findings, level) =>
  findings.filter((finding) => finding.level === level).map(({ title }) => title);

test('finds no fault where everything is right', async () => {
  await cli.hold('a lock');
  const { status, stdout } = cli.run(['doctor']);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^ok {4}the native part is loaded: Node /m);
  expect(stdout).toMatch(/^ok {4}the bucket can be opened: 1 names, 1 held, 0 waiting$/m);
  expect(stdout).toMatch(/^ok {4}the lock table: \d+ of \d+ cells$/m);
});

test('a directory that others can change is a fault, with what to do', () => {
  chmodSync(cli.directory, 0o755);
  const { status, stdout } = cli.run(['doctor']);
  expect(status).toBe(1);
  expect(stdout).toMatch(/^FAIL {2}.* has mode 755: others could change it$/m);
  expect(stdout).toMatch(/→ chmod 700 /);
});

test.each([
  ['broker:', (directory) => `broker://${directory}`],
  ['shm:', (directory) => directory],
])('names the bucket and the directory of %s, and so does top', (url, addressIn) => {
  const options = ['--url', url, '--bucket', 'jobs'];
  expect(cli.run(['exec', '-o', ...options, 'a lock', 'true']).status).toBe(0);
  const address = addressIn(cli.directory);
  expect(cli.run(['top', '--once', '--delay', '0.1', ...options]).stdout).toMatch(
    new RegExp(`^holdfast top  jobs in ${address} `),
  );
  expect(cli.run(['doctor', ...options]).stdout).toMatch(
    new RegExp(
      url === 'shm:' ? `bucket 'jobs' in ${address}` : `locks of jobs in ${address}$`,
      'm',
    ),
  );
});

test('a corrupted table is a fault', () => {
  mkdirSync(path.join(cli.directory, 'default'), { mode: 0o700 });
  const segment = path.join(cli.directory, 'default', 'segment');
  writeFileSync(segment, Buffer.alloc(4 * 2 ** 20, 7), { mode: 0o600 });
  const findings = cli.json(['doctor']);
  expect(titles(findings, 'fault')).toEqual([expect.stringMatching(/cannot be opened/)]);
});

test('a relative HOLDFAST_DIR is a fault', () => {
  const { status, stdout } = cli.run(['doctor'], { env: { HOLDFAST_DIR: 'here' } });
  expect(status).toBe(1);
  expect(stdout).toMatch(/HOLDFAST_DIR is not absolute: here/);
});

test('a stopped holder is named, and how to continue it', async () => {
  const holder = await cli.hold('a lock');
  holder.kill('SIGSTOP');
  await untilEqual(async () => (await cli.locks.inspect()).held[0].processState, 'stopped');
  const { stdout } = cli.run(['doctor']);
  expect(stdout).toMatch(
    new RegExp(`^WARN  'a lock' is held by process ${holder.pid}, .*stopped`, 'm'),
  );
  expect(stdout).toMatch(new RegExp(`→ kill -CONT ${holder.pid} continues it`));
  holder.kill('SIGCONT');
});

test('a parent that does not exist is a fault', () => {
  const { status, stdout } = cli.run(['doctor', '--directory', '/nowhere/at/all']);
  expect(status).toBe(1);
  expect(stdout).toMatch(/^FAIL {2}\/nowhere\/at does not exist: no bucket can be made there$/m);
});

describeInside(['unshare', '--mount'], 'a full file system', () => {
  test.each([
    ['before the bucket is made', false],
    ['of a bucket that has room to grow', true],
  ])('is a fault %s', async (_, isMade) => {
    const script =
      'mount -t tmpfs -o mode=700,size=8m none "$1" && if [ "$4" = true ]; then ' +
      '"$2" "$3" exec a true; fi; cat /dev/zero > "$1/filler" 2>/dev/null; "$2" "$3" doctor --json';
    const words = [cli.directory, process.execPath, PROGRAM, String(isMade)];
    const doctor = cli.start(['--mount', 'sh', '-c', script, 'sh', ...words], {
      program: ['unshare'],
    });
    expect(await doctor.line(/"level":"fault".*the file system is full/)).toBeDefined();
    expect(await doctor.ended).toMatchObject({ status: 1 });
  });
});

test('the holders are examined in a time that grows with their number, not with its square', () => {
  let reads = 0;
  const row = (state, at) => ({
    state,
    processState: 'running',
    held: null,
    get name() {
      reads += 1;
      return `lock ${at}`;
    },
  });
  const rows = Array.from({ length: 1_000 }, (_, at) => [row('held', at), row('waiting', at)]);
  checkHolders(rows.flat());
  expect(reads).toBeLessThanOrEqual(5 * 2_000);
});

describe('--pid', () => {
  test('a process that uses the same table', async () => {
    const { pid } = await cli.hold('a lock');
    const findings = cli.json(['doctor', '--pid', String(pid)]);
    expect(titles(findings, 'ok')).toContain(
      `process ${pid} sees the same lock table, and uses it now`,
    );
    expect(titles(findings, 'fault')).toEqual([]);
  });

  test('a process with another directory', async () => {
    await cli.hold('a lock');
    const other = new CommandLine();
    const { pid } = await other.hold('a lock');
    const findings = cli.json(['doctor', '--pid', String(pid)]);
    expect(titles(findings, 'fault')).toEqual([
      expect.stringMatching(`process ${pid} has another lock table: ${other.directory}/default/`),
    ]);
    expect(findings.at(-1).advice).toMatch(/same HOLDFAST_DIR/);
    other.close();
  });

  test('a process that has the directory of its locks from a URL, as this one has', async () => {
    const env = { HOLDFAST_DIR: '', HOLDFAST_URL: `shm://${cli.directory}` };
    const script = ['exec', 'a lock', '--', 'sh', '-c', 'echo held; cat'];
    const running = cli.start(script, { env });
    await running.line(/held/);
    const { stdout } = cli.run(['doctor', '--pid', String(running.pid)], { env });
    expect(stdout).toMatch(/^ok .* sees the same lock table, and uses it now$/m);
  });

  test('a process with a URL that is refused', async () => {
    const { pid } = cli.start(['1000'], { program: ['sleep'], env: { HOLDFAST_URL: 'shm://x/y' } });
    const { stdout } = cli.run(['doctor', '--pid', String(pid)]);
    expect(stdout).toMatch(/^WARN .*HOLDFAST_URL=shm:\/\/x\/y, other than here/m);
  });

  test('a process with another URL, whose password is not shown', async () => {
    await cli.hold('a lock');
    const env = { HOLDFAST_URL: 'etcd://user:secret@host:2379/prefix' };
    const { pid } = cli.start(['1000'], { program: ['sleep'], env });
    const { stdout } = cli.run(['doctor', '--pid', String(pid)]);
    expect(stdout).toMatch(/^WARN .*HOLDFAST_URL=etcd:\/\/user:…@host:2379\/prefix/m);
    expect(stdout).not.toMatch(/secret/);
  });

  test('a process that is not there', () => {
    const findings = cli.json(['doctor', '--pid', '4194000']);
    expect(titles(findings, 'fault')).toEqual(['there is no process 4194000 here']);
  });
});
