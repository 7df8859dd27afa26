'use strict';

const { AsyncLocalStorage } = require('node:async_hooks');
const { sharedByCopies } = require('../copies.js');
const { contextsAreCheap } = require('../node-internals.js');
const { toEnclosingToken } = require('./token.js');

/** @typedef {import('../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('../../types/backend.d.ts').LockBackendRequest} LockBackendRequest */
/** @typedef {import('../../types/backend.d.ts').LockRequestExtras} LockRequestExtras */

/**
 * A granted request, as requests made inside its callback see it. The request encloses them until
 * its callback has returned and the returned promise has settled. `isSync`: its lock is released
 * before the running code continues. `covering`: of a reentrant request, the lock that covers it.
 * @typedef {LockBackendRequest & {
 *   readonly isEnclosing: boolean,
 *   readonly isSync?: boolean,
 *   readonly covering?: ChainLink,
 *   readonly token: bigint,
 *   readonly backend: LockBackend,
 *   readonly outer: ChainLink | undefined,
 *   openSection(): NestedRequests,
 * }} ChainLink
 */

/**
 * The reentrant requests directly inside a lock: it is not released before they have ended.
 * @typedef {object} NestedRequests
 * @property {LockBackend} nestedBackend  that orders them
 * @property {(request: NestedLink) => void} enterNested
 * @property {(request: NestedLink) => void} leaveNested
 */

/**
 * A request, as far as its call chain is concerned.
 * @typedef {object} Enclosed
 * @property {ChainLink | undefined} outer  the innermost lock in whose callback it is made
 * @property {LockRequestExtras | undefined} extras
 * @property {LockBackend} backend
 */

/**
 * A reentrant request, as the lock that covers it sees it.
 * @typedef {{ coverLost(error: import('../errors.js').LockLostError): void }} NestedLink
 */

/**
 * @typedef {object} ThreadChains
 * @property {AsyncLocalStorage<ChainLink> | undefined} chains  the request in whose callback the
 *   current code runs. All that the callback calls, awaits or starts without awaiting it is inside:
 *   it has the same async context. If async contexts are expensive, a callback is followed only
 *   to its first `await`, until the program uses an option that needs more.
 * @property {ChainLink | undefined} running  without contexts: the request whose callback runs
 */

/** @type {ThreadChains} */
const thread = sharedByCopies('callChains.2', () => ({
  chains: contextsAreCheap ? new AsyncLocalStorage() : undefined,
  running: undefined,
}));

/** Makes later callbacks be followed to their end; callbacks that have begun are not. */
function followCallChains() {
  thread.chains ??= new AsyncLocalStorage();
}

/**
 * Calls the callback of a lock. Everything that it calls, and all later work that this starts, is
 * inside it.
 * @type {(request: ChainLink, callback: (lock: any) => unknown, lock: object) => unknown}
 */
const callInside = contextsAreCheap ? callInContext : callFollowed;

/**
 * Calls the callback of a request in its async context. Runs in a separate microtask, because
 * enterWith() sets the context for the rest of the microtask.
 * @param {ChainLink} request
 * @param {(lock: any) => unknown} callback
 * @param {object} lock
 */
function callInContext(request, callback, lock) {
  const { chains } = thread;
  /** @type {AsyncLocalStorage<ChainLink>} */ (chains).enterWith(request); // for this microtask
  return callback(lock);
}

/**
 * @param {ChainLink} request
 * @param {(lock: any) => unknown} callback
 * @param {object} lock
 */
function callFollowed(request, callback, lock) {
  if (thread.chains !== undefined) return thread.chains.run(request, callback, lock);
  const previous = thread.running;
  thread.running = request;
  try {
    return callback(lock);
  } finally {
    thread.running = previous;
  }
}

/**
 * Runs a function as if inside the callback of a request, and restores the context afterwards.
 * Otherwise all code of a process would inherit its first context.
 * @template T
 * @param {ChainLink | undefined} request
 * @param {() => T} run
 * @returns {T}
 */
function runInside(request, run) {
  if (request === undefined) return run();
  if (thread.chains !== undefined) return thread.chains.run(request, run);
  const previous = thread.running;
  thread.running = request;
  try {
    return run();
  } finally {
    thread.running = previous;
  }
}

/** The innermost lock, of any bucket, that the running call chain holds. */
function enclosingLock() {
  // A callback that began before followCallChains() has no context until its first `await`.
  const { chains, running } = thread;
  return innermostHeld(chains === undefined ? running : (chains.getStore() ?? running));
}

/** @param {ChainLink | undefined} request */
function innermostHeld(request) {
  while (request !== undefined && !request.isEnclosing) request = request.outer;
  return request;
}

/**
 * Notes what encloses a request.
 * @param {Enclosed} request  about to be made
 */
function enterCallChain(request) {
  // As in enclosingLock(), written out: it is part of the constructor of every request.
  const { chains, running } = thread;
  const inner = chains === undefined ? running : (chains.getStore() ?? running);
  if (inner !== undefined) enclose(request, innermostHeld(inner));
}

/**
 * Sets the enclosing lock, before the request is made.
 * @param {Enclosed} request
 * @param {ChainLink | undefined} outer
 */
function enclose(request, outer) {
  request.outer = outer;
  request.extras = extrasInside(request.extras, outer, request.backend);
}

/**
 * The request of the lock that a reentrant one uses, through any number of them. A shared request
 * inside an exclusive lock does not reduce what that covers.
 * @param {ChainLink} request
 */
function requestedAs(request) {
  while (request.covering !== undefined) request = request.covering;
  return request;
}

/**
 * The backend of the lock manager.
 * @param {ChainLink} request
 */
const homeOf = (request) => requestedAs(request).backend;

/**
 * Whether two backends of this thread share their locks.
 * @param {LockBackend} a
 * @param {LockBackend} b
 */
function shareLocks(a, b) {
  return a === b || (a.table !== undefined && a.table === b.table);
}

/**
 * A request has ended. Code that continues from its callback is still inside the locks held around
 * it. Links to ended requests are dropped: an endless chain of nested requests would otherwise
 * never be collected.
 * @param {{ outer: ChainLink | undefined, extras: LockRequestExtras | undefined }} request
 */
function leaveCallChain(request) {
  request.outer = innermostHeld(request.outer);
  request.extras = undefined; // the extras name the enclosing lock
}

/**
 * @param {import('../../types/backend.d.ts').EnclosingLock | undefined} enclosing
 * @returns {LockRequestExtras}
 */
const onlyInside = (enclosing) => ({
  limit: 0,
  holdLimit: 0,
  maxPending: Infinity,
  priority: 'user-visible',
  label: '',
  callSite: '',
  deadlock: 'warn',
  enclosing,
});

const NO_EXTRAS = Object.freeze(onlyInside(undefined));

/**
 * The extras that a request passes to its backend: its own, and the innermost lock of this backend
 * that its call chain holds.
 * @param {LockRequestExtras | undefined} extras
 * @param {ChainLink | undefined} outer  the innermost enclosing request
 * @param {LockBackend} backend
 */
function extrasInside(extras, outer, backend) {
  if (extras?.deadlock === 'ignore') return extras; // the enclosing lock does not wait for it
  const isDirectlyInside = outer?.isEnclosing && homeOf(outer) === backend; // the usual case
  const enclosing = isDirectlyInside
    ? outer
    : heldAround(outer, (request) => shareLocks(homeOf(request), backend));
  if (enclosing === undefined) return extras;
  if (extras === undefined) return onlyInside(toEnclosingToken(enclosing, 'warn'));
  return { ...extras, enclosing: toEnclosingToken(enclosing, extras.deadlock) };
}

/**
 * The innermost lock of the running call chain that covers a reentrant request. A lock of
 * requestSync() covers synchronous requests only: it is released when its callback returns.
 * @param {string} name
 * @param {import('../../types/locks.d.ts').LockMode} mode
 * @param {LockBackend} backend
 * @param {boolean} [isSync]  the request ends before the running code continues
 */
function coveringLock(name, mode, backend, isSync = false) {
  return heldAround(
    enclosingLock(),
    (held) =>
      held.name === name &&
      (isSync || !held.isSync) &&
      shareLocks(homeOf(held), backend) &&
      (requestedAs(held).mode === 'exclusive' || mode === 'shared'),
  );
}

/**
 * @param {ChainLink | undefined} innermost
 * @param {(request: ChainLink) => boolean} isWanted
 */
function heldAround(innermost, isWanted) {
  for (let request = innermost; request !== undefined; request = request.outer) {
    if (request.isEnclosing && isWanted(request)) return request;
  }
  return undefined;
}

module.exports = {
  NO_EXTRAS,
  callInside,
  coveringLock,
  enclose,
  enterCallChain,
  followCallChains,
  homeOf,
  innermostHeld,
  leaveCallChain,
  runInside,
};
