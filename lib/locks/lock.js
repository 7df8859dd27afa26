'use strict';

const { lazy } = require('../lazy.js');
const { DEFAULT_PRIORITY, higherOf, PRIORITY_RANK } = require('../task-priority.js');
const { queueMicrotask } = require('../time.js');
const { defineInterface } = require('../webidl.js');

const taskSignals = lazy(() => require('../scheduler/task-signal.js'));

/** @typedef {import('../task-priority.js').TaskPriority} TaskPriority */

/**
 * The signals of a granted request: `lock.signal` and `lock.contended`. They are created at their
 * first use, so that unused ones cost nothing. The priority of `lock.signal` is the
 * highest of the request's own and of those that wait: priority inheritance (Sha, Rajkumar,
 * Lehoczky 1990). For a reentrant request the requests that wait for its covering lock count, too.
 */
class LockSignals {
  #request;
  /** @type {AbortController | undefined} of lock.signal */
  #loss = undefined;
  /** @type {import('../scheduler/signal-priority.js').SignalPriority | undefined} of lock.signal */
  #priority = undefined;
  /** @type {import('../errors.js').LockLostError | undefined} a loss before the signal is used */
  #lossBefore = undefined;
  /** @type {AbortController | undefined} of lock.contended */
  #contended = undefined;
  #isOver = false;
  /** @type {TaskPriority} */
  #ownPriority;
  /** @type {TaskPriority | null} the highest of those that wait, by the last report */
  #reported = null;
  /** @type {TaskPriority | null} the same, or of those that wait for the covering lock */
  #waiting = null;
  /** @type {Set<LockSignals>} of the reentrant requests inside */
  #nested = new Set();

  /** @param {GrantedRequest} request */
  constructor(request) {
    this.#request = request;
    const { extras, options } = request;
    this.#ownPriority = (extras ?? options?.extras)?.priority ?? DEFAULT_PRIORITY;
  }

  /**
   * Undefined: there is no covering lock, or it is one of another copy of the package.
   * @returns {LockSignals | undefined}
   */
  get #outer() {
    const { covering } = this.#request;
    /** @type {LockSignals | undefined} */
    const outer = covering === undefined ? undefined : signalsOf(covering);
    return outer !== undefined && #nested in outer ? outer : undefined;
  }

  /** @returns {import('../scheduler/task-signal.js').TaskSignal} always the same one */
  get signal() {
    if (this.#loss === undefined) {
      const controller = new AbortController();
      this.#priority = taskSignals().givePriority(controller, () => this.#beginPriority());
      if (this.#lossBefore !== undefined) controller.abort(this.#lossBefore);
      this.#loss = controller;
    }
    return /** @type {any} */ (this.#loss.signal);
  }

  /** @returns {AbortSignal} always the same one; each read of it checks whether a request waits */
  get contended() {
    this.#contended ??= new AbortController();
    const { signal } = this.#contended;
    if (!signal.aborted && this.#readWaiting() !== null) this.#abortContended();
    return signal;
  }

  #abortContended() {
    const message = `Another request waits for the lock '${this.#request.name}'`;
    this.#contended?.abort(new DOMException(message, 'AbortError'));
  }

  /** A request that follows a signal's priority does so while its lock is held, too. */
  #beginPriority() {
    const { options, isHolding } = this.#request;
    const followed = options?.signalPriority;
    if (followed !== undefined && isHolding) {
      followed.observe(this);
      this.#ownPriority = followed.value;
    }
    this.#waiting = this.#readWaiting();
    return higherOf(this.#ownPriority, this.#waiting);
  }

  /**
   * In a microtask: a listener of this signal may have changed the other one.
   * @param {TaskPriority} priority  of the signal that the request follows
   */
  priorityChanged(priority) {
    this.#ownPriority = priority;
    queueMicrotask(() => this.#changePriority());
  }

  #changePriority() {
    this.#priority?.change(higherOf(this.#ownPriority, this.#waiting));
  }

  /**
   * From the first call on, report() follows when it changes.
   * @returns {TaskPriority | null} the highest priority of the requests that wait, if it is known
   */
  #readWaiting() {
    const { backend, isHolding } = this.#request;
    if (!isHolding || this.#isOver) return null;
    const outer = this.#outer;
    if (outer !== undefined) outer.#nested.add(this);
    const waiting = toPriority(backend.watchContention?.(/** @type {any} */ (this.#request)));
    if (waiting !== this.#reported) this.report(waiting);
    return outer === undefined ? waiting : higherOf(waiting, outer.#readWaiting());
  }

  /**
   * In a microtask: listeners must not call a backend's methods while it reports.
   * @param {TaskPriority | null} priority  the highest of those that wait; null: none waits
   */
  report(priority) {
    this.#reported = priority;
    queueMicrotask(() => this.#update());
  }

  #update() {
    if (this.#isOver) return;
    const outer = this.#outer;
    const waiting = higherOf(this.#reported, outer === undefined ? null : outer.#waiting);
    if (waiting !== null) this.#abortContended();
    if (waiting === this.#waiting) return;
    this.#waiting = waiting;
    this.#changePriority();
    for (const nested of this.#nested) nested.#update();
  }

  /**
   * Aborts the signal, in a microtask, as report(). Promises rejected after this call are observed
   * after the abort.
   * @param {import('../errors.js').LockLostError} error
   */
  lose(error) {
    queueMicrotask(() => {
      if (this.#loss === undefined) this.#lossBefore = error;
      else this.#loss.abort(error);
    });
    this.end();
  }

  /** The lock is held no more: none waits for it. Can be repeated, if the stack ends in it. */
  end() {
    if (this.#isOver) return;
    const outer = this.#outer;
    if (outer !== undefined) outer.#nested.delete(this);
    this.#request.options?.signalPriority?.unobserve(this);
    this.#waiting = null;
    queueMicrotask(() => this.#changePriority());
    this.#isOver = true;
  }
}

/**
 * Another backend may know no priorities.
 * @param {unknown} waiting
 * @returns {TaskPriority | null}
 */
const toPriority = (waiting) =>
  typeof waiting === 'string' && Object.hasOwn(PRIORITY_RANK, waiting)
    ? /** @type {TaskPriority} */ (waiting)
    : null;

/** @param {GrantedRequest} request */
const signalsOf = (request) => (request.signals ??= new LockSignals(request));

/**
 * Aborts the signal of a lost lock, even before its first use.
 * @param {GrantedRequest} request
 * @param {import('../errors.js').LockLostError} error
 */
const signalLoss = (request, error) => signalsOf(request).lose(error);

/**
 * @typedef {object} GrantedRequest
 * @property {string} name
 * @property {'exclusive' | 'shared'} mode
 * @property {bigint} token
 * @property {boolean} isHolding
 * @property {import('../../types/backend.d.ts').LockBackend} backend
 * @property {{ priority?: TaskPriority } | undefined} extras
 * @property {any} [options]  not of a synchronous request
 * @property {LockSignals | undefined} signals  from their first use on
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

  /**
   * Beyond the standard: aborts with a LockLostError if the lock is lost while it is held. Has the
   * highest priority of the request and of the requests that wait.
   */
  get signal() {
    return signalsOf(this.#request).signal;
  }

  /** Beyond the standard: aborts when another request waits for the lock. */
  get contended() {
    return signalsOf(this.#request).contended;
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
  Lock,
  createLock,
  FROM_THIS_PACKAGE,
};
