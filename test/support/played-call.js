'use strict';

const { AsyncResource } = require('node:async_hooks');

/** A mode as a history shows it: 'exclusive', 'shared', or 'shared/2' with a limit of 2. */
const modeOf = ({ mode, limit = 0 }) => (limit > 0 ? `${mode}/${limit}` : mode);

const describe = (reason) => `${reason?.name ?? reason} ${reason?.reason ?? ''}`;

/** One call of a history, what became of it, and what inspect() is to show of it. */
class PlayedCall {
  isCalled = false;
  tokens = [];
  isSettled = false;
  isFinished = false;
  #controller = new AbortController();
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
    this.options = this.#optionsOf(step, history.delayOf(id));
    this.mode = modeOf(this.options);
  }

  #optionsOf({ mode, limit, way, timeout, holdLimit, label, deadlock }, delay) {
    const options = { mode: way === 'steal' ? 'exclusive' : mode };
    if (options.mode === 'shared' && limit > 0) options.limit = limit;
    if (way === 'signal') options.signal = this.#controller.signal;
    else if (way !== 'wait') options[way] = true;
    const waits = way === 'wait' || way === 'signal';
    if (timeout && waits) options.timeout = delay;
    if (holdLimit) options.holdLimit = 1;
    if (label) options.label = `${this.id}`;
    if (deadlock !== undefined) options.deadlock = deadlock;
    return options;
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

  /** The fault of its outcome; undefined: none. */
  fault() {
    if (this.#endOfWait === undefined || (this.isSettled && !this.isCalled)) return undefined;
    return `${this.id} waits or is called back after ${this.#endOfWait}`;
  }

  /** As inspect() shows one of its requests. */
  lineOf(name) {
    return `${name} ${this.mode} ${this.step.manager} ${this.options.label ?? ''}`;
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
