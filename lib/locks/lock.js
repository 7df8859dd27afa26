'use strict';

const { queueMicrotask } = require('../time.js');
const { defineInterface } = require('../webidl.js');

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

/** @type {WeakMap<object, AbortController>} by granted request, like those above */
const contentions = new WeakMap();

/** @param {GrantedRequest} request */
function abortForContention({ name }) {
  return new DOMException(`Another request waits for the lock '${name}'`, 'AbortError');
}

/**
 * The signal that aborts when another request waits. Each read checks that, if the backend can do
 * so without waiting. For a reentrant request the requests that wait for its covering lock count,
 * too.
 * @param {GrantedRequest} request
 * @returns {AbortSignal} always the same one
 */
function contentionSignalOf(request) {
  const { backend, covering, isHolding } = request;
  let controller = contentions.get(request);
  if (controller === undefined) {
    controller = new AbortController();
    if (covering !== undefined) followContention(request, covering);
    contentions.set(request, controller);
  }
  const { signal } = controller;
  if (signal.aborted || !isHolding) return signal;
  const isContended =
    (covering !== undefined && contentionSignalOf(covering).aborted) ||
    backend.watchContention?.(/** @type {any} */ (request)) === true;
  if (isContended) controller.abort(abortForContention(request));
  return signal;
}

/**
 * In a microtask, as signalLoss().
 * @param {GrantedRequest} request
 */
function reportContention(request) {
  const controller = contentions.get(request);
  queueMicrotask(() => controller?.abort(abortForContention(request)));
  for (const nested of followers.get(request) ?? []) reportContention(nested);
}

/** Reentrant requests, by their covering request: its contention is also theirs. */
const followers = /** @type {WeakMap<object, Set<GrantedRequest>>} */ (new WeakMap());

/**
 * @param {GrantedRequest} request
 * @param {GrantedRequest} covering
 */
function followContention(request, covering) {
  const ofCovering = followers.get(covering) ?? new Set();
  followers.set(covering, ofCovering.add(request));
}

/** A reentrant request has ended. @param {GrantedRequest} request  with its covering lock */
function unfollowContention(request) {
  followers.get(/** @type {object} */ (request.covering))?.delete(request);
}

/**
 * @typedef {object} GrantedRequest
 * @property {string} name
 * @property {'exclusive' | 'shared'} mode
 * @property {bigint} token
 * @property {boolean} isHolding
 * @property {import('../../types/backend.d.ts').LockBackend} backend
 * @property {any} [covering]  of a reentrant request: the granted request that it nests in
 */

const FROM_THIS_PACKAGE = Symbol('from this package');

function throwIllegalConstructor() {
  throw new TypeError('Illegal constructor');
}

/** A granted request. Standard: Web Locks, #api-lock. */
class Lock {
  /** @type {GrantedRequest} */
  #request;

  /**
   * Not for users: `new Lock()` throws.
   * @param {symbol} [key]
   * @param {GrantedRequest} [request]
   */
  constructor(key = undefined, request = undefined) {
    if (key !== FROM_THIS_PACKAGE) throwIllegalConstructor();
    this.#request = /** @type {GrantedRequest} */ (request);
  }

  get name() {
    return this.#request.name;
  }

  get mode() {
    return this.#request.mode;
  }

  /** Beyond the standard: the fencing token, which rises with every grant in the bucket. */
  get token() {
    return this.#request.token;
  }

  /** Beyond the standard: aborts with a LockLostError if the lock is lost while it is held. */
  get signal() {
    return lossSignalOf(this.#request);
  }

  /** Beyond the standard: aborts when another request waits for the lock. */
  get contended() {
    return contentionSignalOf(this.#request);
  }

  /** For JSON, which has no bigints. */
  toJSON() {
    const { name, mode, token } = this;
    return { name, mode, token: token.toString() };
  }

  /**
   * For console.log().
   * @param {number} _depth
   * @param {object} options
   * @param {(value: unknown, options: object) => string} inspect
   */
  [Symbol.for('nodejs.util.inspect.custom')](_depth, options, inspect) {
    const { name, mode, token } = this;
    return `Lock ${inspect({ name, mode, token }, options)}`;
  }
}
defineInterface(Lock, 'Lock', ['name', 'mode', 'token', 'signal', 'contended']);

/**
 * @param {GrantedRequest} request  granted
 * @returns {Lock}
 */
const createLock = (request) => new Lock(FROM_THIS_PACKAGE, request);

module.exports = {
  signalLoss,
  reportContention,
  unfollowContention,
  Lock,
  createLock,
  FROM_THIS_PACKAGE,
};
