'use strict';

const { AsyncLocalStorage } = require('node:async_hooks');

/** @typedef {import('../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('../../types/backend.d.ts').LockBackendRequest} LockBackendRequest */
/** @typedef {import('../../types/backend.d.ts').LockRequestExtras} LockRequestExtras */

/**
 * A granted request with a callback, as far as those inside the callback are concerned.
 * @typedef {LockBackendRequest & {
 *   readonly isHolding: boolean,
 *   readonly token: bigint,
 *   readonly outer: ChainLink | undefined,
 *   isOf(backend: LockBackend): boolean,
 *   enterNested(): void,
 *   leaveNested(): void,
 * }} ChainLink
 */

/**
 * Inside whose callback is the running code? Everything that the callback calls and awaits, and
 * what it starts and does not await, is inside it: that is the async context.
 *
 * From Node 24 on an async context costs next to nothing. Before, it slows down every promise of
 * the process: there a callback is followed to its first `await` only, until somebody asks for what
 * needs more.
 */
const FIRST_MAJOR_WITH_CHEAP_CONTEXTS = 24;

const isCheap =
  Number.parseInt(process.versions.node, 10) >= FIRST_MAJOR_WITH_CHEAP_CONTEXTS &&
  !`${process.execArgv} ${process.env.NODE_OPTIONS}`.includes('--no-async-context-frame');

/** @type {AsyncLocalStorage<ChainLink> | undefined} */
let chains = isCheap ? new AsyncLocalStorage() : undefined;

/** @type {ChainLink | undefined} where there are no contexts: whose callback runs just now */
let running = undefined;

/** From now on callbacks are followed to their end; those that have begun are not. */
function followCallChains() {
  chains ??= new AsyncLocalStorage();
}

/**
 * What runs from here on, in this microtask and in all that comes from it, is inside the callback.
 * @param {ChainLink} request  in a microtask of its own
 */
function enterCallback(request) {
  if (chains === undefined) running = request;
  else chains.enterWith(request);
}

/** The callback has returned. */
function leaveCallback() {
  running = undefined;
}

/**
 * Runs something inside the callback of a request.
 * @template T
 * @param {ChainLink | undefined} request
 * @param {() => T} run
 * @returns {T}
 */
function runInside(request, run) {
  if (request === undefined) return run();
  if (chains !== undefined) return chains.run(request, run);
  const previous = running;
  running = request;
  try {
    return run();
  } finally {
    running = previous;
  }
}

/** The innermost lock that the running call chain holds, of whatever bucket. */
function enclosingLock() {
  return innermostHeld(chains === undefined ? running : chains.getStore());
}

/** @param {ChainLink | undefined} request */
function innermostHeld(request) {
  while (request !== undefined && !request.isHolding) request = request.outer;
  return request;
}

/**
 * A request is over. What goes on in its callback is still inside what is held around it; those
 * that are over, too, are let go: requests that are made inside one another without end would keep
 * one another for ever.
 * @param {{ outer: ChainLink | undefined, extras: LockRequestExtras | undefined }} request
 */
function leaveCallChain(request) {
  request.outer = innermostHeld(request.outer);
  request.extras = undefined; // they name the enclosing lock
}

/**
 * @param {LockBackendRequest | undefined} enclosing
 * @returns {LockRequestExtras}
 */
const onlyInside = (enclosing) => ({
  limit: 0,
  holdLimit: 0,
  label: '',
  callSite: '',
  deadlock: 'warn',
  enclosing,
});

const NO_EXTRAS = Object.freeze(onlyInside(undefined));

/**
 * What a request inside others tells its backend: beside its own extras, the innermost lock of this
 * backend that its call chain holds.
 * @param {LockRequestExtras | undefined} extras
 * @param {ChainLink | undefined} outer  what encloses the request
 * @param {LockBackend} backend
 */
function extrasInside(extras, outer, backend) {
  const enclosing = heldAround(outer, (request) => request.isOf(backend));
  if (enclosing === undefined) return extras;
  return extras === undefined ? onlyInside(enclosing) : { ...extras, enclosing };
}

/**
 * The held lock, of those of the running call chain, inside which a reentrant request needs no lock
 * of its own.
 * @param {string} name
 * @param {import('../../types/locks.d.ts').LockMode} mode
 * @param {LockBackend} backend
 */
function coveringLock(name, mode, backend) {
  return heldAround(
    enclosingLock(),
    (held) =>
      held.name === name &&
      held.isOf(backend) &&
      (held.mode === 'exclusive' || (held.mode === 'shared' && mode === 'shared')),
  );
}

/**
 * @param {ChainLink | undefined} innermost
 * @param {(request: ChainLink) => boolean} isWanted
 */
function heldAround(innermost, isWanted) {
  for (let request = innermost; request !== undefined; request = request.outer) {
    if (request.isHolding && isWanted(request)) return request;
  }
  return undefined;
}

module.exports = {
  NO_EXTRAS,
  coveringLock,
  enclosingLock,
  enterCallback,
  extrasInside,
  followCallChains,
  leaveCallChain,
  leaveCallback,
  runInside,
};
