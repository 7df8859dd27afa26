'use strict';

const { channel } = require('node:diagnostics_channel');
const { queueMicrotask } = require('../time.js');

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
  if (end.hasSubscribers) end.publish(describeEnd(request, error));
}

/**
 * @param {LockRequest} request
 * @param {unknown} error
 */
function describeEnd({ name, mode, ifAvailable, steal }, error) {
  return { name, mode, ifAvailable, steal, error };
}

/**
 * As publishEnd(), of a request that its backend is telling so: subscribers run inside publish(),
 * and a backend must not find its own methods called while it has more to tell.
 * @param {LockRequest} request
 * @param {unknown} error
 */
function publishEndSoon(request, error) {
  if (end.hasSubscribers) publishSoon(end, describeEnd(request, error));
}

/**
 * @param {LockRequest} request  granted
 * @param {import('../errors.js').LockLostError} error
 */
function publishLost(request, error) {
  if (lost.hasSubscribers) lost.publish({ ...describe(request), error });
}

/**
 * As publishLost(), of a request that its backend is telling so.
 * @param {LockRequest} request
 * @param {import('../errors.js').LockLostError} error
 */
function publishLostSoon(request, error) {
  if (lost.hasSubscribers) publishSoon(lost, { ...describe(request), error });
}

/**
 * @param {import("node:diagnostics_channel").Channel} to
 * @param {object} message
 */
function publishSoon(to, message) {
  queueMicrotask(() => to.publish(message));
}

module.exports = {
  publishStart,
  publishGrant,
  publishMiss,
  publishEnd,
  publishEndSoon,
  publishLost,
  publishLostSoon,
};
