'use strict';

// Translates the native part's codes for a lost lock into the reasons of the backend seam.

const {
  EVENT_DAMAGED,
  EVENT_EXPIRED,
  EVENT_LOST,
  LOSS_DAMAGED,
  LOSS_EXPIRED,
} = require('./native-constants.js');

/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LockLossReason */

/** The result of a release whose table was lost before the answer came. */
const EVENT_DISCONNECTED = -1;

/**
 * @param {number} kind  of an event
 * @returns {LockLossReason | undefined}
 */
function reasonOfEvent(kind) {
  if (kind === EVENT_LOST) return 'stolen';
  if (kind === EVENT_EXPIRED) return 'expired';
  return kind === EVENT_DISCONNECTED || kind === EVENT_DAMAGED ? 'disconnected' : undefined;
}

/**
 * @param {number} loss  the native answer to the end of a request: 0 where the lock was not lost
 * @returns {LockLossReason | undefined}
 */
function reasonOfLoss(loss) {
  if (loss === 0) return undefined;
  if (loss === LOSS_DAMAGED) return 'disconnected';
  return loss === LOSS_EXPIRED ? 'expired' : 'stolen';
}

module.exports = { EVENT_DISCONNECTED, reasonOfEvent, reasonOfLoss };
