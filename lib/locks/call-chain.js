'use strict';

const { AsyncLocalStorage } = require('node:async_hooks');
const { contextsAreCheap } = require('../async-contexts.js');
const { UNKNOWN, toEnclosingWord } = require('./enclosing-word.js');

/** @typedef {import('../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('../../types/backend.d.ts').LockBackendRequest} LockBackendRequest */
/** @typedef {import('../../types/backend.d.ts').LockRequestExtras} LockRequestExtras */

/**
 * A granted request with a callback, as far as those inside the callback are concerned. It encloses
 * what is requested until the callback has ended and what it returned is settled.
 * @typedef {LockBackendRequest & {
 *   readonly isEnclosing: boolean,
 *   readonly isSync: boolean,
 *   readonly token: bigint,
 *   readonly home: LockBackend,
 *   readonly coveredMode: import('../../types/locks.d.ts').LockMode,
 *   readonly nestedBackend: LockBackend,
 *   readonly outer: ChainLink | undefined,
 *   enterNested(request: NestedLink): void,
 *   leaveNested(request: NestedLink): void,
 * }} ChainLink
 */

/**
 * A reentrant request, as far as the lock that covers it is concerned.
 * @typedef {{ coverLost(error: import('../errors.js').LockLostError): void }} NestedLink
 */

/**
 * Inside whose callback is the running code? Everything that the callback calls and awaits, and
 * what it starts and does not await, is inside it: that is the async context.
 *
 * Where async contexts are dear, a callback is followed to its first `await` only, until somebody
 * asks for what needs more.
 * @type {AsyncLocalStorage<ChainLink> | undefined}
 */
let chains = contextsAreCheap ? new AsyncLocalStorage() : undefined;

/** @type {ChainLink | undefined} where there are no contexts: whose callback runs just now */
let running = undefined;

/**
 * Locks of this thread whose callback is not followed, or that are held by a handle.
 * @type {Set<object>}
 */
const unfollowed = new Set();

/** From now on callbacks are followed to their end; those that have begun are not. */
function followCallChains() {
  chains ??= new AsyncLocalStorage();
}

/**
 * Calls the callback of a lock. What it calls, and what comes from that later, is inside it.
 * @param {ChainLink} request  in a microtask of its own
 * @param {(lock: any) => unknown} callback
 * @param {object} lock
 * @returns {unknown}
 */
function callInside(request, callback, lock) {
  if (!contextsAreCheap) {
    if (chains === undefined) unfollowed.add(request);
    return runInside(request, () => callback(lock));
  }
  /** @type {AsyncLocalStorage<ChainLink>} */ (chains).enterWith(request); // for this microtask
  return callback(lock);
}

/**
 * Runs something inside the callback of a request. The context is taken back afterwards: the first
 * ones of a process that has none yet are noted with what all of its code has in common.
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

/**
 * From now on what is requested may be inside this lock, and nobody will know.
 * @param {object} request  granted
 */
function stopFollowing(request) {
  unfollowed.add(request);
}

/**
 * Nothing is inside this lock any more.
 * @param {object} request
 */
function endFollowing(request) {
  if (unfollowed.size > 0) unfollowed.delete(request);
}

/** The innermost lock that the running call chain holds, of whatever bucket. */
function enclosingLock() {
  // What began before the contexts did is in none, until its first `await`.
  return innermostHeld(chains === undefined ? running : (chains.getStore() ?? running));
}

/** @param {ChainLink | undefined} request */
function innermostHeld(request) {
  while (request !== undefined && !request.isEnclosing) request = request.outer;
  return request;
}

/**
 * Whether two backends of this thread share their locks.
 * @param {LockBackend} a
 * @param {LockBackend} b
 */
function shareLocks(a, b) {
  return a === b || (a.table !== undefined && a.table === b.table);
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
 * @param {import('../../types/backend.d.ts').EnclosingLock | undefined} enclosing
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
const MAYBE_INSIDE = Object.freeze(onlyInside(UNKNOWN));

/**
 * What a request tells its backend: beside its own extras, the innermost lock of this backend that
 * its call chain holds.
 * @param {LockRequestExtras | undefined} extras
 * @param {ChainLink | undefined} outer  what encloses the request
 * @param {LockBackend} backend
 */
function extrasInside(extras, outer, backend) {
  const enclosing = heldAround(outer, (request) => shareLocks(request.home, backend));
  if (enclosing === undefined && unfollowed.size === 0) return extras;
  if (extras === undefined) {
    return enclosing === undefined ? MAYBE_INSIDE : onlyInside(toEnclosingWord(enclosing, 'warn'));
  }
  return { ...extras, enclosing: toEnclosingWord(enclosing ?? UNKNOWN, extras.deadlock) };
}

/** Whether a request may be inside a lock although no call chain says so. */
const mayBeInside = () => unfollowed.size > 0;

/**
 * The innermost lock of the running call chain inside which a reentrant request needs no lock of
 * its own. One of requestSync() is given back when its callback returns: what runs later is not
 * inside it.
 * @param {string} name
 * @param {import('../../types/locks.d.ts').LockMode} mode
 * @param {LockBackend} backend
 * @param {boolean} [isSync]  the request ends before the running code goes on
 */
function coveringLock(name, mode, backend, isSync = false) {
  return heldAround(
    enclosingLock(),
    (held) =>
      held.name === name &&
      (isSync || !held.isSync) &&
      shareLocks(held.home, backend) &&
      (held.coveredMode === 'exclusive' || mode === 'shared'),
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
  enclosingLock,
  endFollowing,
  extrasInside,
  followCallChains,
  leaveCallChain,
  mayBeInside,
  runInside,
  shareLocks,
  stopFollowing,
};
