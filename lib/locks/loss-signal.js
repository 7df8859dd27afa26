'use strict';

const { queueMicrotask } = require('../time.js');

/**
 * The signals that abort when a lock is lost. They are created at their first use or at the loss,
 * so that an unused signal costs nothing.
 */

/** @type {WeakMap<object, AbortController>} by granted request */
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
 * Aborts the signal, even before its first use. The abort runs in a microtask: listeners must not
 * call a backend's methods while it is reporting a loss. Promises rejected after this call are
 * observed after the abort.
 * @param {object} request
 * @param {import('../errors.js').LockLostError} error
 */
function signalLoss(request, error) {
  const controller = controllerOf(request);
  queueMicrotask(() => controller.abort(error));
}

module.exports = { lossSignalOf, signalLoss };
