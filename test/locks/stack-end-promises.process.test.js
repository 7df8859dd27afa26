'use strict';

const { spawnSync } = require('node:child_process');

const LIBRARY = require.resolve('../../lib/index.js');

/**
 * Makes a call at each of many frames before the end of the stack, as a program that catches the
 * error there. In a separate process: an unhandled rejection ends it.
 * @param {string} call
 * @param {number} before  calls that come first, one at a time
 */
function callAtTheEnd(call, before) {
  const program = `
    const { createLocalLockManager, scheduler } = require(${JSON.stringify(LIBRARY)});
    const locks = createLocalLockManager();
    const call = () => ${call};
    const counts = { settled: 0, thrown: 0 };
    const promises = [];
    let calls = 0;
    const descend = () => {
      try {
        descend();
      } catch {
        // The end. From here on the frames return, one after the other.
      }
      if (calls++ >= 400) return;
      try {
        promises.push(call());
      } catch {
        counts.thrown += 1;
      }
    };
    (async () => {
      for (let i = 0; i < ${before}; i += 1) await call();
      descend();
      for (const promise of promises) promise.catch(() => {});
      await Promise.allSettled(promises).then(({ length }) => (counts.settled = length));
      console.log(JSON.stringify([counts.settled + counts.thrown, await call()]));
    })();`;
  const { status, stdout } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' });
  return [status, stdout.trim()];
}

// More calls before than a check of the room counts as first ones (lib/stack-room.js).
test.each([
  ['requestAll()', 1, "locks.requestAll(['a', 'b'], () => 'ran')"],
  ['a task with a delay', 1, "scheduler.postTask(() => 'ran', { delay: 1 })"],
  [
    'the second task with a delay, after many alone,',
    150,
    "scheduler.postTask(() => 'ran', { delay: 1 })",
  ],
])('%s at the end of the stack: all promises settle, and no other rejects', (_, before, call) => {
  expect(callAtTheEnd(call, before)).toEqual([0, '[400,"ran"]']);
});
