'use strict';

const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { checkHolders } = require('../../lib/cli/doctor.js');
const { openLockManager } = require('../../lib/index.js');
const { CommandLine } = require('../support/cli.js');
const { describeInside } = require('../support/namespaces.js');
const { untilEqual } = require('../support/process-bucket.js');

// The problems of docs/troubleshooting.md are found from a shell, and explained. Its deadlock is in
// commands.process.test.js (graph), its stopped holders in process-states.process.test.js and
// doctor.process.test.js.

const LIBRARY = path.join(__dirname, '../../lib/index.js');

let cli;
beforeEach(() => {
  cli = new CommandLine();
});
afterEach(() => cli.close());

/** A program of a user, that says when it has begun. */
async function startProgram(name, code, inside = []) {
  const file = path.join(cli.directory, name);
  writeFileSync(file, `const holdfast = require(${JSON.stringify(LIBRARY)});\n${code}`);
  const program = [...inside, process.execPath, file];
  const running = cli.start([], { program });
  await running.line(/begun/);
  return running;
}

describe('a forgotten handle', () => {
  const FORGETS = `
    const locks = holdfast.openLockManager({ callSites: true });
    (async () => {
      globalThis.kept = await locks.acquire('import', { label: 'row 17' }); // line 4
      setInterval(() => {}, 1000);
      console.log('begun');
    })();`;

  test('ls shows its line, its label and its program; steal frees it', async () => {
    const holder = await startProgram('forgets.js', FORGETS);
    const waiter = cli.start(['exec', 'import', 'echo', 'mine']);
    await untilEqual(async () => (await cli.locks.query()).pending.length, 1);
    const [row] = cli.json(['ls', 'import']);
    expect(row).toMatchObject({ state: 'held', pid: holder.pid, label: 'row 17' });
    expect(row.callSite).toMatch(/forgets\.js:5:\d+\)?$/);
    expect(row.command).toMatch(/forgets\.js$/);
    expect(cli.run(['ls']).stdout).toMatch(/CALL SITE +COMMAND\nimport +held .*forgets\.js:5/);
    expect(cli.run(['steal', 'import', '--yes']).status).toBe(0);
    expect(await waiter.line()).toBe('mine');
  });

  test('doctor warns of it after a minute, if another waits', async () => {
    await startProgram('forgets.js', FORGETS);
    const [held] = cli.json(['ls', 'import']);
    const waiting = { ...held, state: 'waiting', held: null, waited: 1 };
    const age = (ms) => ({ ...held, held: ms });
    expect(checkHolders([age(59_000), waiting])).toEqual([]);
    expect(checkHolders([age(61_000)])).toEqual([]);
    expect(checkHolders([age(68_000), waiting])).toEqual([
      {
        level: 'warning',
        title: `'import' is held by process ${held.pid} for 1 m 8 s; 1 wait`,
        advice: expect.stringMatching(/forgotten release/),
      },
    ]);
  });
});

describe('a full table', () => {
  test('doctor warns of it, ls names who has filled it, exec is refused with the reason', async () => {
    const holder = await startProgram(
      'full.js',
      `const locks = holdfast.openLockManager({ bucket: 'small', capacity: 2 ** 22 });
      globalThis.kept = [];
      (async () => {
        try {
          for (let i = 0; ; i += 1) {
            kept.push(await locks.acquire('job ' + i, { label: 'import of a row' }));
          }
        } catch (error) {
          console.log('begun ' + error.name);
        }
        setInterval(() => {}, 1000);
      })();`,
    );
    const small = ['--bucket', 'small'];
    const findings = cli.json(['doctor', ...small]);
    expect(findings).toContainEqual({
      level: 'warning',
      title: expect.stringMatching(/^the lock table: \d+ of \d+ cells \((9\d|100) %\)$/),
      advice: expect.stringMatching(/find who has so many with 'holdfast ls'/),
    });
    const rows = cli.json(['ls', ...small]);
    expect(rows.length).toBeGreaterThan(1_000);
    expect(rows.every(({ pid, label }) => pid === holder.pid && label === 'import of a row')).toBe(
      true,
    );
    const long = 'x'.repeat(100_000); // takes more cells than are left
    const refused = cli.run(['exec', ...small, long, 'true']);
    expect(refused.status).toBe(69);
    expect(refused.stderr).toMatch(/full/);
  });
});

const OTHER_SHM = [
  'unshare',
  '--mount',
  'sh',
  '-c',
  'mount -t tmpfs none /dev/shm && exec "$0" "$@"',
];
describeInside(OTHER_SHM, 'two containers that do not share a directory', () => {
  let directory;
  beforeEach(() => {
    directory = mkdtempSync('/dev/shm/holdfast-cli-');
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  test('doctor --pid says that it is another container, and that the files differ', async () => {
    const here = openLockManager({ directory });
    await here.request('import', () => {});
    here.close();
    const inside = [...OTHER_SHM, 'sh', '-c', `mkdir -m 700 ${directory} && exec "$0" "$@"`];
    const other = await startProgram(
      'other.js',
      `holdfast.locks.acquire('import').then((lock) => {
        globalThis.kept = lock;
        setInterval(() => {}, 1000);
        console.log('begun');
      });`,
      ['env', `HOLDFAST_DIR=${directory}`, ...inside],
    );
    const args = ['doctor', '--pid', String(other.pid), '--directory', directory];
    const { status, stdout } = cli.run(args);
    expect(status).toBe(1);
    expect(stdout).toMatch(/^note .* is in another container \(namespaces: mnt\)$/m);
    expect(stdout).toMatch(
      new RegExp(
        `^FAIL {2}process ${other.pid} has another lock table: ${directory}/default/`,
        'm',
      ),
    );
    expect(stdout).toMatch(/→ mount one directory in both containers/);
  });
});
