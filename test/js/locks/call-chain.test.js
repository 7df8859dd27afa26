'use strict';

const { runWithCollector } = require('../../support/collector-program.js');

test('requests that are made inside one another without end do not keep one another', () => {
  const bytesPerRequest = runWithCollector(async ({ createLocalLockManager }) => {
    const REQUESTS = 20_000;
    const locks = createLocalLockManager();
    const heap = () => {
      globalThis.gc();
      return process.memoryUsage().heapUsed;
    };
    const before = heap();
    let count = 0;
    return new Promise((resolve) => {
      const section = () => {
        count += 1;
        if (count < REQUESTS) locks.request('a', section);
        else resolve((heap() - before) / REQUESTS);
      };
      locks.request('a', section);
    });
  });
  expect(bytesPerRequest).toBeLessThan(100);
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
