'use strict';

const { AsyncLocalStorage } = require('node:async_hooks');

/** @typedef {import('./lock-request.js').LockRequest} LockRequest */

/**
 * In whose callback does the running code belong? Everything that the callback calls and awaits,
 * and what it starts and does not await, is inside it: that is the async context.
 *
 * From Node 24 on an async context costs next to nothing. Before, it slows down every promise of
 * the process, so there nothing is followed until somebody asks for what needs it.
 */
const FIRST_MAJOR_WITH_CHEAP_CONTEXTS = 24;

const isCheap =
  Number.parseInt(process.versions.node, 10) >= FIRST_MAJOR_WITH_CHEAP_CONTEXTS &&
  !`${process.execArgv} ${process.env.NODE_OPTIONS}`.includes('--no-async-context-frame');

/** @type {AsyncLocalStorage<LockRequest> | undefined} */
let chains = isCheap ? new AsyncLocalStorage() : undefined;

/** From now on callbacks are followed; those that run already are not. */
function followCallChains() {
  chains ??= new AsyncLocalStorage();
}

/**
 * What runs from here on, in this microtask and in all that comes from it, is inside the callback.
 * @param {LockRequest} request  in a microtask of its own
 */
function enterCallback(request) {
  chains?.enterWith(request);
}

/**
 * The innermost lock that the running call chain holds.
 * @returns {LockRequest | undefined}
 */
function enclosingRequest() {
  let request = chains?.getStore();
  while (request !== undefined && !request.isHolding) request = request.enclosing;
  return request;
}

module.exports = { followCallChains, enterCallback, enclosingRequest };
