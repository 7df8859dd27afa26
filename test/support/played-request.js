'use strict';

const { PlayedCall, PlayedCallback, describe } = require('./played-call.js');

/** request() */
class PlayedRequest extends PlayedCallback {
  #isRefused = false;
  #isNested = false;
  /** Its wait is over before it begins. */
  #isCovered = false;

  /**
   * @param {import('../../types').LockManager} locks
   * @param {(name: number) => string} nameOf
   * @param {PlayedRequest} [outer]  in whose callback it is made
   */
  start(locks, nameOf, outer) {
    const { reentrant, name } = this.step;
    if (reentrant && !this.options.steal) this.options.reentrant = true;
    this.outer = outer;
    this.#isCovered = Boolean(this.options.reentrant) && outer.covers(name, this.options.mode);
    const request = locks.request(nameOf(name), this.options, (lock) => {
      this.#isRefused = lock === null;
      if (lock === null) return this.hold([], null);
      const owner = outer?.ownerOf(lock.token);
      this.#isNested = owner !== undefined;
      owner?.nested.push({ token: lock.token, request: this });
      return this.hold([lock], `${lock.mode} ${this.#isNested ? 'nested' : ''}`);
    });
    this.settleWith(request);
  }

  get isNested() {
    return this.#isNested;
  }

  /** Whether a reentrant request inside the callback is nested in the lock. */
  covers(name, mode) {
    if (this.isSettled || this.#isRefused || this.step.name !== name) return false;
    return this.options.mode === 'exclusive' || mode === 'shared';
  }

  fault() {
    if (this.#isCovered && this.isCalled && !this.#isNested) return `${this.id} is not nested`;
    if (this.#isCovered && !this.isCalled && !this.isSettled) return `${this.id} waits for itself`;
    return super.fault();
  }

  expected() {
    if (this.isSettled || this.#isRefused || this.#isNested) return { held: [], pending: [] };
    const line = [this.lineOf(this.step.name)];
    return this.isCalled ? { held: line, pending: [] } : { held: [], pending: line };
  }

  /** A hold that time is to end does not stay. */
  isAsExpected() {
    return !this.isOnTheClock || !this.isCalled || this.#isRefused || this.#isNested;
  }
}

/** acquire() */
class PlayedHandle extends PlayedCall {
  #handle;

  start(locks, nameOf) {
    const acquired = locks.acquire(nameOf(this.step.name), this.options).then((handle) => {
      this.#handle = handle;
      this.isCalled = true;
      if (handle !== null) this.#watchLoss(handle.signal);
      if (this.isFinished) handle?.release();
      return handle?.mode;
    });
    this.settleWith(acquired);
  }

  #watchLoss(signal) {
    const tell = () => this.#log(`lost: ${describe(signal.reason)}`);
    if (signal.aborted) tell();
    else signal.addEventListener('abort', tell);
  }

  settle(how) {
    this.isSettled = true;
    this.#log(how);
  }

  /** A short hold may be over before the handle was to be given. */
  #log(how) {
    if (!this.step.holdLimit) this.log(`${this.id} ${how}`);
  }

  finish() {
    this.isFinished = true;
    this.#handle?.release();
  }

  get #isHeld() {
    return Boolean(this.#handle) && !this.isFinished && !this.#handle.signal.aborted;
  }

  get isAtItsEnd() {
    return this.isSettled && !this.#isHeld;
  }

  expected() {
    const line = [this.lineOf(this.step.name)];
    if (this.#isHeld) return { held: line, pending: [] };
    return { held: [], pending: this.isSettled ? [] : line };
  }

  isAsExpected() {
    return !this.isOnTheClock || !this.isSettled;
  }
}

/** requestAll(): it takes the names in their order, so what is to be seen is one step of that. */
class PlayedRequestAll extends PlayedCallback {
  #locks = [];
  #heldCount = 0; // while it waits for the others
  #nameOf;

  constructor(id, step, history) {
    // Else the clock would say whether the first lock is still held when the next is refused.
    const holdLimit = step.holdLimit && step.way !== 'ifAvailable';
    super(id, { ...step, holdLimit }, history);
  }

  start(locks, nameOf) {
    this.options.label = `${this.id}`;
    const request = locks.requestAll(this.step.names.map(nameOf), this.options, (all) => {
      this.#locks = (all ?? []).map(({ name, token, signal }) => ({ name, token, signal }));
      return this.hold(all ?? [], all === null ? null : `${all.length} locks`);
    });
    this.settleWith(request);
    this.#nameOf = nameOf;
  }

  get isAtItsEnd() {
    return this.isCalled ? this.#heldOf().length === 0 : this.isSettled;
  }

  /** Also of a callback that goes on after a loss. */
  #heldOf() {
    const held = this.#locks.filter(({ token, signal }) => {
      const isNeeded = this.nested.some((one) => one.token === token && !one.request.isSettled);
      return !signal.aborted && (!this.isFinished || isNeeded);
    });
    return this.#sorted.filter((name) => held.some((lock) => lock.name === this.#nameOf(name)));
  }

  covers(name, mode) {
    const isHeld = this.#locks.some((lock) => lock.name === this.#nameOf(name));
    return isHeld && !this.isSettled && (this.options.mode === 'exclusive' || mode === 'shared');
  }

  get #sorted() {
    return [...new Set(this.step.names)].sort();
  }

  expected(shown) {
    if (this.isCalled) {
      return { held: this.#heldOf().map((name) => this.lineOf(name)), pending: [] };
    }
    if (this.isSettled) return { held: [], pending: [] };
    const names = this.#sorted.map((name) => this.lineOf(name));
    this.#heldCount = shown.held.filter((line) => names.includes(line)).length;
    return {
      held: names.slice(0, this.#heldCount),
      pending: names.slice(this.#heldCount, this.#heldCount + 1),
    };
  }

  isAsExpected() {
    if (this.isCalled || this.isSettled) return !this.isOnTheClock;
    if (this.#heldCount === this.#sorted.length) return false; // about to be called
    return !this.isOnTheClock || this.#heldCount === 0;
  }
}

/** requestSync(): it is over when it returns. All managers live in one thread. */
class PlayedSync extends PlayedCall {
  start(locks, nameOf) {
    const { way, name } = this.step;
    const { mode } = this.options;
    const options = way === 'ifAvailable' ? { mode, ifAvailable: true } : { mode };
    try {
      this.settle(locks.requestSync(nameOf(name), options, (lock) => `sync ${lock?.mode}`));
    } catch (error) {
      this.settle(`threw ${describe(error)}`);
    }
  }

  finish() {}
  expected() {
    return { held: [], pending: [] };
  }
  isAsExpected() {
    return true;
  }
}

const CALLS = {
  request: PlayedRequest,
  nested: PlayedRequest,
  acquire: PlayedHandle,
  all: PlayedRequestAll,
  sync: PlayedSync,
};

module.exports = { CALLS };
