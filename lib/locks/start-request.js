'use strict';

const { lazy } = require('../lazy.js');
const { coveringLock } = require('./call-chain.js');
const { DEFAULTS } = require('./default-options.js');
const { LockRequest } = require('./lock-request.js');

/** @typedef {import('./lock-options.js').LockOptions} LockOptions */
/** @typedef {import('../../types/backend.d.ts').LockBackend} LockBackend */

const requestNested = lazy(() => require('./nested-request.js').requestNested);
const trackAwaits = lazy(() => require('./deadlock/await-tracker.js').trackAwaits);

/**
 * @param {LockBackend} backend
 * @param {string} name
 * @param {LockOptions} options
 * @param {import('./lock-request.js').LockGrantedCallback} callback
 * @returns {Promise<any>} the released promise
 */
function startRequest(backend, name, options, callback) {
  const request = new LockRequest(backend, name, options, callback);
  return options.reentrant ? startReentrant(request, callback) : startTracked(request);
}

/**
 * Inside a lock that covers it, another one takes its place.
 * @param {LockRequest} request
 * @param {import('./lock-request.js').LockGrantedCallback} callback
 */
function startReentrant(request, callback) {
  const { backend, name, options } = request;
  const held = coveringLock(name, options.mode, backend);
  return held === undefined ? startTracked(request) : requestNested()(held, options, callback);
}

/**
 * @param {LockBackend} backend
 * @param {string} name
 * @param {import('./lock-request.js').LockGrantedCallback} callback
 * @returns {Promise<any>} the released promise of a request without options
 */
const startPlain = (backend, name, callback) =>
  startTracked(new LockRequest(backend, name, DEFAULTS, callback));

/**
 * @param {LockRequest} request
 * @returns {Promise<any>} the released promise; it tells whether the program awaits it, if that
 *   matters
 */
function startTracked(request) {
  const released = request.start();
  if (request.extras === undefined || !request.isNestedWait) return released; // as a rule
  return trackAwaits()(released, request);
}

module.exports = { startPlain, startRequest, startTracked };
