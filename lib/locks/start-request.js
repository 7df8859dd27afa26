'use strict';

const { lazy } = require('../lazy.js');
const { DEFAULTS } = require('./lock-options.js');
const { LockRequest } = require('./lock-request.js');

/** @typedef {import('./lock-options.js').LockOptions} LockOptions */
/** @typedef {import('../../types/backend.d.ts').LockBackend} LockBackend */

const trackAwaits = lazy(() => require('./deadlock/await-tracker.js').trackAwaits);

/**
 * @param {LockBackend} backend
 * @param {string} name
 * @param {LockOptions} options
 * @param {import('./lock-request.js').LockGrantedCallback} callback
 * @returns {Promise<any>} the released promise
 */
const startRequest = (backend, name, options, callback) =>
  startTracked(new LockRequest(backend, name, options, callback));

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
  return request.isNestedWait ? trackAwaits()(released, request) : released;
}

module.exports = { startPlain, startRequest, startTracked };
