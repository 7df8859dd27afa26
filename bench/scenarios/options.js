'use strict';

const { openLockManager } = require('../../lib/index.js');
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

const section = () => {};
const request = (options) => contender((locks) => () => locks.request('ledger', options, section));

/** @type {Record<string, import('../harness/scenarios.js').Contender>} */
const VARIANTS = {
  "mode: 'shared'": request({ mode: 'shared' }),
  ifAvailable: request({ ifAvailable: true }),
  signal: request({ signal: new AbortController().signal }),
};

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 2,
  title: 'The same with the options of the standard',
  note:
    'The extensions (`timeout`, `acquire()`, `Mutex`) join when they are there, and so does ' +
    '`requestSync()`, with its goal 7.',
  rounds: 5,
  contenders: { plain: contender((locks) => () => locks.request('ledger', section)), ...VARIANTS },
  goals: Object.keys(VARIANTS).map((of) => ({ of, per: 'plain', figure: 'ns', atMost: 1.3 })),
  chart: { figure: 'ns', title: 'Uncontended request and release with options, ns' },
};
