'use strict';

const { LockLostError } = require('../errors.js');
const { publishLostSoon } = require('./diagnostics.js');
const { signalLoss } = require('./loss-signal.js');

/**
 * Tells the signal of a lock and the subscribers that it was lost.
 * @param {import('./lock-request.js').LockRequest} request  granted
 * @param {import('../errors.js').LossReason} reason
 * @param {string} [because]  the backend's explanation
 */
function tellLoss(request, reason, because = undefined) {
  const error = new LockLostError(reason, request.token, request.name, because);
  signalLoss(request, error); // before the rejection
  publishLostSoon(request, error);
  return error;
}

module.exports = { tellLoss };
