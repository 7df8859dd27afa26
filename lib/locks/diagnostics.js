'use strict';

const { channel } = require('node:diagnostics_channel');

/**
 * The diagnostics channels of requests, with the names and the messages that Node's own locks have,
 * and one more for lost locks. What nobody subscribes to costs the look whether somebody does.
 */

/** @typedef {import('../../types/backend.d.ts').LockBackendRequest} LockRequest */

const start = channel('locks.request.start');
const grant = channel('locks.request.grant');
const miss = channel('locks.request.miss');
const end = channel('locks.request.end');
const lost = channel('locks.request.lost');

/** @param {LockRequest} request */
const describe = ({ name, mode }) => ({ name, mode });

/** @param {LockRequest} request  about to be handed to the backend */
function publishStart(request) {
  if (start.hasSubscribers) start.publish(describe(request));
}

/** @param {LockRequest} request  its callback is about to run with the lock */
function publishGrant(request) {
  if (grant.hasSubscribers) grant.publish(describe(request));
}

/** @param {LockRequest} request  its callback is about to run with null */
function publishMiss(request) {
  if (miss.hasSubscribers) miss.publish(describe(request));
}

/**
 * @param {LockRequest} request  its promise has been settled
 * @param {unknown} error  what with, undefined where it was fulfilled
 */
function publishEnd(request, error) {
  if (!end.hasSubscribers) return;
  const { name, mode, ifAvailable, steal } = request;
  end.publish({ name, mode, ifAvailable, steal, error });
}

/**
 * @param {LockRequest} request  granted
 * @param {import('../errors.js').LockLostError} error
 */
function publishLost(request, error) {
  if (lost.hasSubscribers) lost.publish({ ...describe(request), error });
}

module.exports = { publishStart, publishGrant, publishMiss, publishEnd, publishLost };
