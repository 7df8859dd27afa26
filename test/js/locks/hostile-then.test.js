'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { createLocalLockManager, openLockManager } = require('../../../lib/index.js');

const { then } = Promise.prototype;

let directory;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'holdfast-'))));
afterEach(() => {
  Promise.prototype.then = then;
  rmSync(directory, { recursive: true, force: true });
});

/** Calls it while then() of all promises throws. */
function callWithHostileThen(call) {
  Promise.prototype.then = () => {
    throw new Error('hostile');
  };
  try {
    call();
  } catch {
    // It may throw; others must not wait for that.
  } finally {
    Promise.prototype.then = then;
  }
}

test.each([
  ['in shared memory', () => openLockManager({ directory })],
  ['of this thread', () => createLocalLockManager()],
])('a then() that throws in a release keeps no other request waiting: %s', async (_, open) => {
  const locks = open();
  const holders = [await locks.acquire('a'), await locks.acquire('b')];
  const ask = (name) => locks.request(name, () => `in ${name}`);
  const waiting = Promise.all(['a', 'b'].map(ask));
  callWithHostileThen(() => holders[0].release());
  holders[1].release();
  expect(await waiting).toEqual(['in a', 'in b']);
  locks.close();
});
