'use strict';

const { toLockDetails } = require('./native-decode.js');
const { Slices } = require('../../sliced.js');
const { dateNow, setTimeout } = require('../../time.js');

/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */
/** @typedef {import('../../../types/backend.d.ts').LockInspection} LockInspection */
/** @typedef {import('./native-decode.js').FlatLocks} FlatLocks */

// Answers of goOnWaitWalk(); 0: there is more to read.
const DONE = 1;
const BUSY = 2;

/** The pause before another try when a shard was busy. */
const RETRY_MS = 2;
const DETAILS_AT_ONCE = 64;

/**
 * Reads the locks and requests that can be reached from some requests, a piece at a time.
 * @param {(call: (agent: any) => any) => any} ask  calls the native agent, and throws its error
 * @param {readonly number[]} requestIds
 * @param {import('../../../types/backend.d.ts').WaitWalkOptions} options
 * @returns {Promise<LockInspection>}
 */
async function walkWaits(ask, requestIds, { withQueues }) {
  const ids = Uint32Array.from(requestIds);
  const slices = new Slices();
  ask((agent) => agent.beginWaitWalk(ids, withQueues));
  for (let answer = 0; answer !== DONE;) {
    answer = ask((agent) => agent.goOnWaitWalk());
    if (answer === BUSY) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    else await slices.pause();
  }
  /** @type {LockInspection} */
  const found = { held: [], pending: [] };
  const now = dateNow();
  for (;;) {
    /** @type {[FlatLocks, FlatLocks]} */
    const [held, pending] = ask((agent) => agent.readWaitWalk(DETAILS_AT_ONCE));
    if (held.length + pending.length === 0) return found;
    found.held.push(...toLockDetails(held, now));
    found.pending.push(...toLockDetails(pending, now));
    await slices.pause();
  }
}

module.exports = { walkWaits };
