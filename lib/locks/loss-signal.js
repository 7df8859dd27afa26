'use strict';

const { queueMicrotask } = require('../time.js');

/**
 * The signals that say that a lock was lost. Made when they are asked for, or when a lock is lost,
 * so that nobody pays for those that nobody looks at.
 */

/** @type {WeakMap<object, AbortController>} by the request that was granted */
const controllers = new WeakMap();

/** @param {object} request */
function controllerOf(request) {
  let controller = controllers.get(request);
  if (controller === undefined) {
    controller = new AbortController();
    controllers.set(request, controller);
  }
  return controller;
}

/**
 * @param {object} request
 * @returns {AbortSignal} always the same one
 */
const lossSignalOf = (request) => controllerOf(request).signal;

/**
 * Aborts the signal, also one that is still to be asked for: in a microtask, because the listeners
 * run inside the abort and a backend must not find its own methods called while it tells a loss.
 * What is rejected after this call is heard of after the abort.
 * @param {object} request
 * @param {import('../errors.js').LockLostError} error
 */
function signalLoss(request, error) {
  const controller = controllerOf(request);
  queueMicrotask(() => controller.abort(error));
}

module.exports = { lossSignalOf, signalLoss };
