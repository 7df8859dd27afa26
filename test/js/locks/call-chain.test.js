'use strict';

const { runWithCollector } = require('../../support/collector-program.js');

/** Bytes that stay for each request of a chain in which the callback of each makes the next one. */
const bytesPerRequest = (options, section) =>
  runWithCollector(`async ({ createLocalLockManager }) => {
    const REQUESTS = 20_000;
    const locks = createLocalLockManager();
    const heap = () => {
      globalThis.gc();
      return process.memoryUsage().heapUsed;
    };
    const before = heap();
    let count = 0;
    return new Promise((resolve) => {
      const next = () => {
        count += 1;
        if (count < REQUESTS) locks.request('a', ${options}, section);
        else setImmediate(() => resolve((heap() - before) / REQUESTS));
      };
      const section = ${section};
      locks.request('a', ${options}, section);
    });
  }`);

test.each([
  ['{}', '() => next()'],
  // From here on async contexts are used, on every Node.
  ["{ deadlock: 'reject' }", '() => next()'],
  ["{ deadlock: 'warn' }", 'async () => next()'],
  ["{ deadlock: 'ignore' }", 'async () => { next(); await null; }'],
  ["{ deadlock: 'reject', timeout: 60_000 }", 'async () => next()'],
  [
    '{ reentrant: true, signal: new AbortController().signal }',
    'async () => void setImmediate(next)',
  ],
])('a chain of requests with %s in %s keeps none of them', (options, section) => {
  expect(bytesPerRequest(options, section)).toBeLessThan(100);
});

test('code of a callback that has ended is still inside what is held around it', async () => {
  const { createLocalLockManager } = require('../../../lib/index.js');
  const locks = createLocalLockManager();
  await locks.request('outer', { reentrant: true }, async () => {
    let late;
    await locks.request('inner', { reentrant: true }, () => {
      late = Promise.resolve()
        .then(() => new Promise((resolve) => setImmediate(resolve)))
        .then(() => locks.request('outer', { reentrant: true }, () => 'inside'));
    });
    expect(await late).toBe('inside');
  });
});
