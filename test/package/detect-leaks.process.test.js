'use strict';

const { mkdtempSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { removeLocks } = require('../support/broker-process.js');
const { USES_OF_LOCKS, expectNoLeak } = require('../support/leak-detector.js');

let folder;
beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), 'holdfast-leaks-'))));
afterEach(() => removeLocks(new BrokerFiles('default', folder)));

test.each([
  ['a task', 'await holdfast.scheduler.postTask(() => {});'],
  ['an idle callback', 'await new Promise((done) => holdfast.requestIdleCallback(done));'],
  ['a lock', "await holdfast.locks.request('a', () => {});"],
  ['a yield', 'await holdfast.scheduler.yield();'],
])('%s leaves nothing of a test file behind', (_, body) => expectNoLeak(folder, 'shm:', body));

test.each(USES_OF_LOCKS)('%s over a broker leaves nothing of a test file behind', (_, body) =>
  expectNoLeak(folder, 'broker:', body),
);
