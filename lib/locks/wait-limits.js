'use strict';

const { describeProcess } = require('../backends/host.js');
const { timeoutError } = require('../errors.js');
const { lazy } = require('../lazy.js');
const { apply, clearTimeout, setTimeout, then } = require('../time.js');

/** @typedef {import('../../types/backend.d.ts').LockBackend} Backend */
/** @typedef {import('../../types/backend.d.ts').LockDetail} LockDetail */

/** Further holders are only mentioned. */
const MAX_NAMED = 3;

/** @param {LockDetail} holder */
function describeHolder(holder) {
  const { threadId, label, held } = holder;
  const about = [describeProcess(holder), `thread ${threadId}`];
  if (label !== '') about.push(`label '${label}'`);
  return `${about.join(', ')}, for ${Math.round(held ?? 0)} ms`;
}

/**
 * @param {LockDetail[]} holders
 * @returns {string} '' if they are not known, or if the lock is free
 */
function describeHolders(holders) {
  if (holders.length === 0) return '';
  const named = holders.slice(0, MAX_NAMED).map(describeHolder);
  if (holders.length > MAX_NAMED) named.push('and others');
  return `; it is held by ${named.join('; ')}`;
}

/**
 * @param {string} name
 * @param {number} timeout  ms
 * @param {LockDetail[]} holders
 * @param {string} [silence]  why the backend has decided nothing
 */
const describeTimeout = (name, timeout, holders, silence) =>
  `The lock '${name}' was not granted within ${timeout} ms${
    silence === undefined ? describeHolders(holders) : `: ${silence}`
  }`;

/**
 * The holders that describeTimeout() names.
 * @param {Backend} backend
 * @param {string} name
 * @returns {LockDetail[] | Promise<LockDetail[]>} a promise from backends that answer later
 */
const findHolders = (backend, name) => backend.holdersOf?.(name, MAX_NAMED + 1) ?? [];

/**
 * The same, for a thread that is blocked.
 * @param {Backend} backend
 * @param {string} name
 */
const findHoldersSync = (backend, name) =>
  /** @type {LockDetail[]} */ (backend.holdersOf?.(name, MAX_NAMED + 1, true) ?? []);

/** How often, and how many times, a backend that answers later is checked. */
const CHECK_MS = 5;
const MAX_CHECKS = 200;
/** The longest wait for the holders' names. */
const MAX_NAMING_MS = 250;

const abortListeners = lazy(() => require('../abort-listeners.js'));

/** @typedef {import('../scheduler/signal-priority.js').SignalPriority} SignalPriority */

/**
 * A request with a limited wait.
 * @typedef {import('../abort-listeners.js').Abortable & {
 *   changePriority(priority: import('../task-priority.js').TaskPriority): void,
 *   backend: import('../../types/backend.d.ts').LockBackend,
 *   name: string,
 * }} Limited
 */

/**
 * Ends the wait of a request before its grant: by its signal or its timeout. A request that follows
 * the priority of its signal does so meanwhile.
 */
class WaitLimits {
  #request;
  #signal;
  #priority;
  #timeout;
  #isWatching = false;
  /** @type {NodeJS.Timeout | undefined} while the request is queued */
  #timer = undefined;
  #checks = 0;

  /**
   * @param {Limited} request
   * @param {import('./lock-options.js').LockOptions} options
   */
  constructor(request, { signal, signalPriority, timeout }) {
    this.#request = request;
    this.#signal = signal;
    this.#priority = signalPriority;
    this.#timeout = timeout;
  }

  /** Called when the request is queued: a request that is granted at once pays for no timer. */
  startTimer() {
    if (this.#timeout === Infinity) return;
    this.#timer = setTimeout(timeOut, this.#timeout, this);
  }

  /**
   * Called when the request waits for its lock. Others pay for no listener, which costs several
   * times as much as the lock: their signal is read before the callback. The program may have
   * replaced methods of the signal: where they throw, the request ends.
   */
  watchSignal() {
    if (this.#signal === undefined) return;
    try {
      abortListeners().watchAbort(this.#signal, this.#request);
      this.#isWatching = true;
      throwIfAborted(this.#signal);
      this.#priority?.observe(this);
      if (this.#priority !== undefined) this.priorityChanged(this.#priority.value);
    } catch (error) {
      this.#request.abort(error);
    }
  }

  get movesBehindEquals() {
    return this.#request.backend.movesBehindEquals;
  }

  /** @param {import('../task-priority.js').TaskPriority} priority */
  priorityChanged(priority) {
    this.#request.changePriority(priority);
  }

  /** Called when the request leaves the queue; its signal counts until its callback runs. */
  stopTimer() {
    this.#priority?.unobserve(this);
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Ends both. */
  end() {
    this.stopTimer();
    if (!this.#isWatching) return;
    this.#isWatching = false;
    abortListeners().unwatchAbort(/** @type {AbortSignal} */ (this.#signal), this.#request);
  }

  /**
   * A backend that answers later may have granted the lock already: its answer takes precedence.
   */
  timeOut() {
    if (isUndecided(this.#request) && this.#checks < MAX_CHECKS) {
      this.#checks += 1;
      this.#timer = setTimeout(timeOut, CHECK_MS, this);
      return;
    }
    const { backend, name } = this.#request;
    const holders = findHolders(backend, name);
    if (Array.isArray(holders)) this.#rejectWith(holders);
    else this.#rejectWhenKnown(holders);
  }

  /**
   * A grant or an abort that comes before the names counts.
   * @param {Promise<LockDetail[]>} holders
   */
  #rejectWhenKnown(holders) {
    const timer = setTimeout(() => this.#rejectWith([], true), MAX_NAMING_MS);
    this.#timer = timer;
    const onKnown = (/** @type {LockDetail[]} */ known) => {
      if (this.#timer === timer) this.#rejectWith(known);
    };
    void apply(then, holders, [onKnown]);
  }

  /**
   * @param {LockDetail[]} holders
   * @param {boolean} [isSilent]  whether they are unknown, because the backend has not answered
   */
  #rejectWith(holders, isSilent = false) {
    const { backend, name } = this.#request;
    const silence = backend.silenceOf?.(/** @type {any} */ (this.#request), isSilent);
    const message = describeTimeout(name, this.#timeout, holders, silence);
    this.#request.abort(timeoutError(message), true);
  }
}

/**
 * @param {AbortSignal | undefined} signal
 * @throws its reason
 */
function throwIfAborted(signal) {
  if (signal !== undefined && signal.aborted) throw signal.reason;
}

/**
 * Whether the backend has not yet said if the request has to wait.
 * @param {Limited} request
 */
const isUndecided = (request) =>
  request.backend.isUndecided?.(/** @type {any} */ (request)) === true;

/** @param {WaitLimits} limits */
const timeOut = (limits) => limits.timeOut();

/**
 * @param {Limited} request
 * @param {import('./lock-options.js').LockOptions} options
 * @returns {WaitLimits | undefined} undefined if there are no limits
 */
function createWaitLimits(request, options) {
  if (options.signal === undefined && options.timeout === Infinity) return undefined;
  return new WaitLimits(request, options);
}

module.exports = {
  describeTimeout,
  findHoldersSync,
  CHECK_MS,
  MAX_CHECKS,
  createWaitLimits,
  throwIfAborted,
};
