'use strict';

// How a lock was lost, as the native part says it, in the words of the seam.

const { EVENT_EXPIRED, EVENT_LOST, LOSS_EXPIRED } = require('./native-constants.js');

/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LockLossReason */

/** How a release went whose table was lost before it was told. */
const EVENT_DISCONNECTED = -1;

/**
 * @param {number} kind  of an event
 * @returns {LockLossReason | undefined}
 */
function reasonOfEvent(kind) {
  if (kind === EVENT_LOST) return 'stolen';
  if (kind === EVENT_EXPIRED) return 'expired';
  return kind === EVENT_DISCONNECTED ? 'disconnected' : undefined;
}

/**
 * @param {number} loss  what the end of a request answered, if it knew: 0 where nothing was lost
 * @returns {LockLossReason | undefined}
 */
function reasonOfLoss(loss) {
  if (loss === 0) return undefined;
  return loss === LOSS_EXPIRED ? 'expired' : 'stolen';
}

module.exports = { EVENT_DISCONNECTED, reasonOfEvent, reasonOfLoss };
