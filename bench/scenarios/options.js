'use strict';

const { Mutex, openLockManager } = require('../../lib/index.js');
const { makeDirectory } = require('../harness/bucket.js');
const { nsPerOperation } = require('../harness/in-process.js');

/**
 * @param {(locks: import('../../types').LockManager) => () => Promise<unknown>} makeOperation
 * @returns {import('../harness/scenarios.js').Contender}
 */
const contender = (makeOperation) => ({
  async measure() {
    const locks = openLockManager({ directory: makeDirectory() });
    return { ns: await nsPerOperation(makeOperation(locks)) };
  },
});

const SYNC_BATCH = 500;
const section = () => {};
const request = (options) => contender((locks) => () => locks.request('ledger', options, section));

/** @type {Record<string, import('../harness/scenarios.js').Contender>} */
const VARIANTS = {
  "mode: 'shared'": request({ mode: 'shared' }),
  ifAvailable: request({ ifAvailable: true }),
  signal: request({ signal: new AbortController().signal }),
  timeout: request({ timeout: 10_000 }),
  'Mutex.runExclusive()': contender((locks) => {
    const mutex = new Mutex('ledger', { manager: locks });
    return () => mutex.runExclusive(section);
  }),
  'acquire()': contender((locks) => async () => (await locks.acquire('ledger')).release()),
};

/** Measures requestSync(), which blocks, and so has no promise to await. */
const requestSync = {
  async measure() {
    const locks = openLockManager({ directory: makeDirectory() });
    const batch = () => {
      for (let i = 0; i < SYNC_BATCH; i += 1) locks.requestSync('ledger', section);
    };
    const ns = await nsPerOperation(async () => batch(), { batch: 1 });
    return { ns: ns / SYNC_BATCH };
  },
};

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 2,
  title: 'The same with options, and in other forms',
  rounds: 5,
  contenders: {
    plain: contender((locks) => () => locks.request('ledger', section)),
    // The function in which acquire() is measured, without its handle.
    'plain, in an async function': contender(
      (locks) => async () => void (await locks.request('ledger', section)),
    ),
    ...VARIANTS,
    'requestSync()': requestSync,
  },
  goals: [
    ...Object.keys(VARIANTS).map((of) => ({ of, per: 'plain', figure: 'ns', atMost: 1.2 })),
    { of: 'requestSync()', figure: 'ns', atMost: 300 },
  ],
  chart: { figure: 'ns', title: 'Uncontended request and release with options, ns' },
};
