'use strict';

const { chmodSync, mkdirSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { CommandLine } = require('../../support/cli.js');
const { untilEqual } = require('../../support/process-bucket.js');

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

test('a damaged table is a fault', () => {
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

test('a stopped holder is named, and how to let it go on', async () => {
  const holder = await cli.hold('a lock');
  holder.kill('SIGSTOP');
  await untilEqual(async () => (await cli.locks.inspect()).held[0].processState, 'stopped');
  const { stdout } = cli.run(['doctor']);
  expect(stdout).toMatch(
    new RegExp(`^WARN  'a lock' is held by process ${holder.pid}, .*stopped`, 'm'),
  );
  expect(stdout).toMatch(new RegExp(`→ kill -CONT ${holder.pid} lets it go on`));
  holder.kill('SIGCONT');
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
