'use strict';

const { lazy } = require('../lazy.js');
const { coveringLock } = require('./call-chain.js');
const { DEFAULTS } = require('./lock-options.js');
const { LockRequest } = require('./lock-request.js');

/** @typedef {import('./lock-options.js').LockOptions} LockOptions */
/** @typedef {import('../../types/backend.d.ts').LockBackend} LockBackend */

const requestNested = lazy(() => require('./nested-request.js').requestNested);

/**
 * @param {LockBackend} backend
 * @param {string} name
 * @param {LockOptions} options
 * @param {import('./lock-request.js').LockGrantedCallback} callback
 * @returns {Promise<any>} the released promise
 */
function startRequest(backend, name, options, callback) {
  const request = new LockRequest(backend, name, options, callback);
  return options.reentrant ? startReentrant(request, callback) : request.start();
}

/**
 * Inside a lock that covers it, another one takes its place.
 * @param {LockRequest} request
 * @param {import('./lock-request.js').LockGrantedCallback} callback
 */
function startReentrant(request, callback) {
  const { backend, name, options } = request;
  const held = coveringLock(name, options.mode, backend);
  return held === undefined ? request.start() : requestNested()(held, options, callback);
}

/**
 * @param {LockBackend} backend
 * @param {string} name
 * @param {import('./lock-request.js').LockGrantedCallback} callback
 * @returns {Promise<any>} the released promise of a request without options
 */
const startPlain = (backend, name, callback) =>
  new LockRequest(backend, name, DEFAULTS, callback).start();

module.exports = { startPlain, startRequest };
