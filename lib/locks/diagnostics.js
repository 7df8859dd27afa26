'use strict';

const { channel } = require('node:diagnostics_channel');
const { homeOf } = require('./call-chain.js');
const { withJson } = require('./token.js');
const { DEFAULT_PRIORITY } = require('../task-priority.js');
const { performance, queueMicrotask } = require('../time.js');

/**
 * The diagnostics channels of requests. They have the names of Node's own lock channels, and one
 * more for lost locks. A message has the members of Node's messages, and more; all messages of one
 * request are the same object. Without subscribers a channel costs only the check for them, and no
 * message is created.
 */

/**
 * @typedef {import('../../types/backend.d.ts').LockBackendRequest & {
 *   readonly backend: import('../../types/backend.d.ts').LockBackend,
 *   readonly token: bigint,
 * }} LockRequest
 */
/** @typedef {import('../../types/diagnostics.d.ts').LockRequestMessage} LockRequestMessage */
/** @typedef {{ -readonly [K in keyof LockRequestMessage]: LockRequestMessage[K] }} Message */

const start = channel('locks.request.start');
const grant = channel('locks.request.grant');
const miss = channel('locks.request.miss');
const end = channel('locks.request.end');
const lost = channel('locks.request.lost');

/** @type {WeakMap<LockRequest, Message>} by request, once one was published */
const messages = new WeakMap();
let lastRequestId = 0;

/** Milliseconds since 1970, by a monotonic clock. */
const now = () => performance.timeOrigin + performance.now();

/**
 * @param {LockRequest} request
 * @returns {Message}
 */
function messageOf(request) {
  const known = messages.get(request);
  if (known !== undefined) return known;
  const { name, mode, ifAvailable, steal, extras } = request;
  const backend = homeOf(/** @type {any} */ (request)); // of a reentrant one, not its own table
  const made = withJson({
    requestId: ++lastRequestId,
    name,
    mode,
    bucket: backend.bucket ?? '',
    clientId: backend.clientId,
    label: extras?.label ?? '',
    priority: extras?.priority ?? DEFAULT_PRIORITY,
    ifAvailable,
    steal,
    requestedAt: now(),
    token: null,
    grantedAt: null,
    endedAt: null,
    error: undefined,
  });
  messages.set(request, made);
  return made;
}

/** @param {LockRequest} request  about to be handed to the backend */
function publishStart(request) {
  if (start.hasSubscribers) start.publish(messageOf(request));
}

/** @param {LockRequest} request  its callback is about to run with the lock */
function publishGrant(request) {
  if (grant.hasSubscribers) grant.publish(messageAtGrant(request));
}

/**
 * The same for a lock that is lost before its callback, which may never run: see
 * publishEndInMicrotask().
 * @param {LockRequest} request
 */
function publishGrantInMicrotask(request) {
  if (grant.hasSubscribers) publishInMicrotask(grant, messageAtGrant(request));
}

/** @param {LockRequest} request */
function messageAtGrant(request) {
  const message = messageOf(request);
  message.token = request.token;
  message.grantedAt = now();
  return message;
}

/** @param {LockRequest} request  its callback is about to run with null */
function publishMiss(request) {
  if (miss.hasSubscribers) miss.publish(messageOf(request));
}

/**
 * @param {LockRequest} request  its promise has been settled
 * @param {unknown} error  the reason; undefined if it was fulfilled
 */
function publishEnd(request, error) {
  if (end.hasSubscribers) end.publish(messageAtEnd(request, error));
}

/**
 * @param {LockRequest} request
 * @param {unknown} error
 */
function messageAtEnd(request, error) {
  const message = messageOf(request);
  message.endedAt = now();
  message.error = error;
  // For programs that do not subscribe to grants.
  if (request.tokenHigh !== 0 || request.tokenLow !== 0) message.token ??= request.token;
  return message;
}

/**
 * Like publishEnd(), but in a microtask: subscribers run inside publish(), and must not call a
 * backend's methods while it is still reporting events.
 * @param {LockRequest} request
 * @param {unknown} error
 */
function publishEndInMicrotask(request, error) {
  if (end.hasSubscribers) publishInMicrotask(end, messageAtEnd(request, error));
}

/**
 * @param {LockRequest} request
 * @param {import('../errors.js').LockLostError} error
 */
function messageAtLoss(request, error) {
  const message = messageOf(request);
  message.error = error;
  message.token ??= request.token;
  return message;
}

/**
 * @param {LockRequest} request  granted
 * @param {import('../errors.js').LockLostError} error
 */
function publishLost(request, error) {
  if (lost.hasSubscribers) lost.publish(messageAtLoss(request, error));
}

/**
 * Like publishLost(), but in a microtask, for the same reason as publishEndInMicrotask().
 * @param {LockRequest} request
 * @param {import('../errors.js').LockLostError} error
 */
function publishLostInMicrotask(request, error) {
  if (lost.hasSubscribers) publishInMicrotask(lost, messageAtLoss(request, error));
}

/**
 * @param {import("node:diagnostics_channel").Channel} to
 * @param {object} message
 */
function publishInMicrotask(to, message) {
  queueMicrotask(() => to.publish(message));
}

module.exports = {
  publishStart,
  publishGrant,
  publishGrantInMicrotask,
  publishMiss,
  publishEnd,
  publishEndInMicrotask,
  publishLost,
  publishLostInMicrotask,
};
