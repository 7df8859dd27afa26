'use strict';

const { mkdtempSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { removeLocks } = require('../support/broker-process.js');
const { runWithCollector } = require('../support/collector-program.js');

let directory;
beforeEach(() => (directory = mkdtempSync(path.join(tmpdir(), 'holdfast-'))));
afterEach(() => removeLocks(new BrokerFiles('default', directory)));

const MANAGERS = {
  local: 'holdfast.createLocalLockManager()',
  broker: "holdfast.openLockManager({ url: 'broker:', directory })", // its releases end later
};

/** Bytes that stay for each request of a chain in which the callback of each makes the next one. */
const bytesPerRequest = (kind, options, section) =>
  runWithCollector(`async (holdfast) => {
    const directory = ${JSON.stringify(directory)};
    const locks = ${MANAGERS[kind]};
    const WARM_UP = 2_000;
    const REQUESTS = ${kind === 'local' ? 20_000 : 4_000};
    const heap = () => {
      globalThis.gc();
      return process.memoryUsage().heapUsed;
    };
    let before;
    let count = 0;
    const bytes = await new Promise((resolve) => {
      const next = () => {
        count += 1;
        if (count === WARM_UP) before = heap();
        if (count < WARM_UP + REQUESTS) locks.request('a', ${options}, section);
        else setImmediate(() => resolve((heap() - before) / REQUESTS));
      };
      const section = ${section};
      locks.request('a', ${options}, section);
    });
    locks.close();
    return bytes;
  }`);

describe.each(['local', 'broker'])('of a chain of requests nothing stays [%s]', (kind) => {
  test.each([
    ['{}', '() => next()'],
    // From here on async contexts are used, on every Node.
    ["{ deadlock: 'reject' }", '() => next()'],
    ["{ deadlock: 'warn' }", 'async () => next()'],
    ["{ deadlock: 'reject', timeout: 60_000 }", 'async () => { next(); await null; }'],
    [
      '{ reentrant: true, signal: new AbortController().signal }',
      'async () => void setImmediate(next)',
    ],
  ])('options %s, callback %s', (options, section) => {
    expect(bytesPerRequest(kind, options, section)).toBeLessThan(100);
  });
});

test('code of a callback that has ended is still inside what is held around it', async () => {
  const { createLocalLockManager } = require('../../lib/index.js');
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
