'use strict';

const { AsyncResource } = require('node:async_hooks');
const { TaskController } = require('../../lib/index.js');

/** A mode as a history shows it: 'exclusive', 'shared', or 'shared/2' with a limit of 2. */
const modeOf = ({ mode, limit = 0 }) => (limit > 0 ? `${mode}/${limit}` : mode);

const describe = (reason) => `${reason?.name ?? reason} ${reason?.reason ?? ''}`;

/** One call of a history, what became of it, and what inspect() is to show of it. */
class PlayedCall {
  isCalled = false;
  tokens = [];
  isSettled = false;
  isFinished = false;
  #controller;
  #priority;
  /** @type {string | undefined} */
  #endOfWait = undefined;

  /**
   * @param {number} id
   * @param {object} step
   * @param {{ log(event: string): void, delayOf(id: number): number }} history
   */
  constructor(id, step, history) {
    this.id = id;
    this.step = step;
    this.log = history.log;
    this.#priority = step.priority ?? 'user-visible';
    this.#controller = new TaskController({ priority: this.#priority });
    this.options = this.#optionsOf(step, history.delayOf(id));
    this.mode = modeOf(this.options);
  }

  #optionsOf(step, delay) {
    const { mode, limit, way, timeout, holdLimit, label, deadlock, maxPending, priority } = step;
    const options = { mode: way === 'steal' ? 'exclusive' : mode };
    if (options.mode === 'shared' && limit > 0) options.limit = limit;
    if (way === 'signal') options.signal = this.#controller.signal;
    else if (way !== 'wait') options[way] = true;
    const waits = way === 'wait' || way === 'signal';
    if (timeout && waits) options.timeout = delay;
    if (maxPending !== undefined && waits) options.maxPending = maxPending;
    if (priority !== undefined && !this.#followsSignal) options.priority = priority;
    if (holdLimit) options.holdLimit = 1;
    if (label) options.label = `${this.id}`;
    if (deadlock !== undefined) options.deadlock = deadlock;
    return options;
  }

  /** Whether its priority is the one of its signal: others have the option. */
  get #followsSignal() {
    return this.step.way === 'signal' && !['all', 'sync'].includes(this.step.kind);
  }

  /** Changes the priority of its signal, also after its wait. */
  setPriority(priority) {
    if (!this.#followsSignal || this.step.reentrant) return;
    this.#priority = priority;
    this.#controller.setPriority(priority);
  }

  /** Whether time alone still changes something. */
  get isOnTheClock() {
    return Boolean(this.step.holdLimit) && !this.isAtItsEnd;
  }

  get isAtItsEnd() {
    return this.isSettled;
  }

  settleWith(promise) {
    promise.then(
      (value) => this.settle(`fulfilled with ${value}`),
      (reason) => this.settle(`rejected with ${describe(reason)}`),
    );
  }

  settle(how) {
    this.isSettled = true;
    this.log(`${this.id} ${how}`);
  }

  abort() {
    if (this.step.way === 'signal') this.#endsWaitBy('its signal');
    this.#controller.abort(`reason of ${this.id}`);
  }

  /** Its timer has fired. */
  timeOut() {
    this.#endsWaitBy('its timeout');
  }

  #endsWaitBy(what) {
    if (!this.isCalled && !this.isSettled) this.#endOfWait = what;
  }

  /** Whether its wait is ending: over a broker, a timeout asks who the holders are first. */
  get isGivingUp() {
    return this.#endOfWait !== undefined && !this.isCalled && !this.isSettled;
  }

  /** The fault of its outcome; undefined: none. */
  fault() {
    if (this.#endOfWait === undefined || !this.isCalled) return undefined;
    return `${this.id} is called back after ${this.#endOfWait}`;
  }

  /** As inspect() shows one of its requests that holds a lock. */
  heldLineOf(name) {
    return `${name} ${this.mode} ${this.step.manager} ${this.options.label ?? ''}`;
  }

  /** The same for a waiting request. */
  pendingLineOf(name) {
    return `${this.heldLineOf(name)} ${this.#priority}`;
  }
}

/** A call with a callback that runs until the history finishes it. */
class PlayedCallback extends PlayedCall {
  /** The reentrant requests inside its locks, in order: these are held as long as they are. */
  inside = [];
  #finish;
  #finished = new Promise((resolve, reject) => {
    this.#finish = { resolve, reject };
  });
  #context;

  constructor(id, step, history) {
    super(id, step, history);
    this.#finished.catch(() => {}); // the callback may never come to return it
  }

  /** The callback of the call, with the locks that it was granted. */
  hold(locks, what) {
    this.isCalled = true;
    this.tokens = locks.map(({ token }) => token);
    this.#context = new AsyncResource('history');
    // A short hold may be over before the callback was to run.
    if (!this.step.holdLimit) this.log(`${this.id} called with ${what}`);
    return this.#finished;
  }

  /** Whether this call, or a call around it, has a lock with this token. */
  ownsToken(token) {
    return this.tokens.includes(token) || Boolean(this.outer?.ownsToken(token));
  }

  /** The innermost call, this one or a call around it, that covers a reentrant request. */
  coveringOf(name, mode) {
    if (this.isCalled && !this.isFinished && this.covers(name, mode)) return this;
    return this.outer?.coveringOf(name, mode);
  }

  /** Whether it is about to settle: over a broker this takes a round trip. */
  get isEnding() {
    if (!this.isCalled || !this.isFinished || this.isSettled) return false;
    return this.inside.every(({ isSettled }) => isSettled);
  }

  /** Runs `body` as if the callback did. */
  runInside(body) {
    this.#context.runInAsyncScope(body);
  }

  finish(isFailure) {
    this.isFinished = true;
    if (isFailure) this.#finish.reject(`failure of ${this.id}`);
    else this.#finish.resolve(`result of ${this.id}`);
  }
}

module.exports = { PlayedCall, PlayedCallback, describe, modeOf };
