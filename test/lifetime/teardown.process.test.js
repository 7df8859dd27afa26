'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { openLockManager } = require('../../lib/index.js');

// Workers end in every state and in every way; nothing of them is left, in the process and in the
// bucket. HOLDFAST_WORKERS=<count> makes it longer.
const WORKERS = Number(process.env.HOLDFAST_WORKERS ?? 24);
const MS_PER_WORKER = 2_000; // a watchdog
const PACKAGE = join(__dirname, '../..');
const PROGRAM = join(__dirname, 'teardown-program.js');

let root;
let directory;
let locks;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'holdfast-'));
  directory = join(root, 'locks');
  locks = openLockManager({ directory });
});
afterEach(() => {
  locks.close();
  rmSync(root, { recursive: true, force: true });
});

const library = join(PACKAGE, 'lib/index.js');

/** The package once more, at another path: another addon to the system. */
function copyPackage() {
  const copy = join(root, 'copy');
  mkdirSync(join(copy, 'build/Release'), { recursive: true });
  cpSync(join(PACKAGE, 'lib'), join(copy, 'lib'), { recursive: true });
  const addon = 'build/Release/holdfast.node';
  cpSync(join(PACKAGE, addon), join(copy, addon));
  cpSync(join(PACKAGE, 'package.json'), join(copy, 'package.json'));
  return join(copy, 'lib/index.js');
}

const CASES = {
  'of the addon': () => [library],
  'of two copies of the addon': () => [library, copyPackage()],
};

test.each(Object.keys(CASES))(
  `${WORKERS} workers %s, which the main thread never loads, leave nothing behind`,
  async (name) => {
    const libraries = CASES[name]();
    await locks.request('taken', async () => {
      const options = { libraries, directory, count: WORKERS };
      const child = fork(PROGRAM, [JSON.stringify(options)], { execArgv: [] });
      const ended = once(child, 'exit');
      const report = once(child, 'message').then(([value]) => value);
      const { before, after } = await Promise.race([report, ended]);
      expect(after).toEqual(before);
      expect(after.segments).toBe(0);
      expect(await ended).toEqual([0, null]);
      const { held, pending } = await locks.query();
      expect(held).toHaveLength(1); // of this process
      expect(pending).toEqual([]);
    });
    expect(readdirSync(join(directory, 'default'))).toHaveLength(3);
  },
  60_000 + WORKERS * MS_PER_WORKER,
);

test('two copies of the addon in one process exclude each other', async () => {
  const copy = require(copyPackage()).openLockManager({ directory });
  const order = [];
  await locks.request('a', async () => {
    order.push('first');
    copy.request('a', () => order.push('copy'));
    await copy.query();
    expect(order).toEqual(['first']);
    locks.request('a', () => order.push('last'));
  });
  await locks.request('a', () => {});
  expect(order).toEqual(['first', 'copy', 'last']);
  copy.close();
});
