'use strict';

const { PlayedCall, PlayedCallback, describe } = require('./played-call.js');

/** request() */
class PlayedRequest extends PlayedCallback {
  #isRefused = false;
  #isNested = false;
  /** @type {PlayedCallback | undefined} in whose lock it waits and is held */
  #covering = undefined;

  /**
   * @param {import('../../types').LockManager} locks
   * @param {(name: number) => string} nameOf
   * @param {PlayedRequest} [outer]  in whose callback it is made
   */
  start(locks, nameOf, outer) {
    const { reentrant, name } = this.step;
    if (reentrant && !this.options.steal) this.options.reentrant = true;
    this.outer = outer;
    if (this.options.reentrant) this.#covering = outer.coveringOf(name, this.options.mode);
    this.#covering?.inside.push(this);
    const request = locks.request(nameOf(name), this.options, (lock) => {
      this.#isRefused = lock === null;
      if (lock === null) return this.hold([], null);
      this.#isNested = Boolean(outer?.ownsToken(lock.token));
      return this.hold([lock], `${lock.mode} ${this.#isNested ? 'nested' : ''}`);
    });
    this.settleWith(request);
  }

  /** A shared request inside an exclusive lock covers as that does. */
  get coveredMode() {
    return this.#covering?.coveredMode ?? this.options.mode;
  }

  /** Whether a reentrant request inside the callback is nested in the lock. */
  covers(name, mode) {
    if (this.isSettled || this.#isRefused || this.step.name !== name) return false;
    return this.coveredMode === 'exclusive' || mode === 'shared';
  }

  fault() {
    const isCovered = this.#covering !== undefined;
    if (this.isCalled && !this.#isRefused && isCovered !== this.#isNested) {
      return `${this.id} is ${isCovered ? 'not ' : ''}nested`;
    }
    return super.fault();
  }

  get #isWaiting() {
    return !this.isCalled && !this.isSettled;
  }

  /** Whether those that were begun before it inside the same lock keep it from being granted. */
  #isBehindSibling() {
    const { inside } = this.#covering;
    const before = inside.slice(0, inside.indexOf(this)).filter((one) => one.isInTheWay);
    if (before.some((one) => one.#isWaiting)) return true;
    const { mode, limit = Infinity } = this.options;
    if (mode === 'exclusive') return before.length > 0;
    return before.length >= limit || before.some((one) => one.options.mode === 'exclusive');
  }

  get isInTheWay() {
    return !this.isSettled && !this.#isRefused;
  }

  expected() {
    if (!this.isInTheWay || this.#covering !== undefined) return { held: [], pending: [] };
    const { name } = this.step;
    return this.isCalled
      ? { held: [this.heldLineOf(name)], pending: [] }
      : { held: [], pending: [this.pendingLineOf(name)] };
  }

  /**
   * A hold that time is to end does not stay. Inside a lock, where inspect() shows nothing, only
   * siblings keep a request waiting: its callback may come a turn of the event loop later.
   */
  isAsExpected() {
    if (this.isEnding) return false;
    if (this.#covering !== undefined && this.#isWaiting && !this.#isBehindSibling()) return false;
    return !this.isOnTheClock || !this.isCalled || this.#isRefused;
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
    const report = () => this.#log(`lost: ${describe(signal.reason)}`);
    if (signal.aborted) report();
    else signal.addEventListener('abort', report);
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
    const { name } = this.step;
    if (this.#isHeld) return { held: [this.heldLineOf(name)], pending: [] };
    return { held: [], pending: this.isSettled ? [] : [this.pendingLineOf(name)] };
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
      this.#locks = (all ?? []).map(({ name, signal }) => ({ name, signal }));
      return this.hold(all ?? [], all === null ? null : `${all.length} locks`);
    });
    this.settleWith(request);
    this.#nameOf = nameOf;
  }

  get isAtItsEnd() {
    return this.isCalled ? this.#heldOf().length === 0 : this.isSettled;
  }

  /** The held names, also of a callback that keeps running after a loss. */
  #heldOf() {
    const held = this.#locks.filter(({ name, signal }) => {
      const isNeeded = this.inside.some(
        (one) => this.#nameOf(one.step.name) === name && one.isInTheWay,
      );
      return !signal.aborted && (!this.isFinished || isNeeded);
    });
    return this.#sorted.filter((name) => held.some((lock) => lock.name === this.#nameOf(name)));
  }

  /** Also after the loss of another of its locks, which settles it: its callback keeps running. */
  covers(name, mode) {
    const isHeld = this.#locks.some(
      (lock) => lock.name === this.#nameOf(name) && !lock.signal.aborted,
    );
    return isHeld && (this.options.mode === 'exclusive' || mode === 'shared');
  }

  get #sorted() {
    return [...new Set(this.step.names)].sort();
  }

  expected(shown) {
    if (this.isCalled) {
      return { held: this.#heldOf().map((name) => this.heldLineOf(name)), pending: [] };
    }
    if (this.isSettled) return { held: [], pending: [] };
    const held = this.#sorted.map((name) => this.heldLineOf(name));
    const pending = this.#sorted.map((name) => this.pendingLineOf(name));
    this.#heldCount = shown.held.filter((line) => held.includes(line)).length;
    return {
      held: held.slice(0, this.#heldCount),
      pending: pending.slice(this.#heldCount, this.#heldCount + 1),
    };
  }

  isAsExpected() {
    if (this.isEnding) return false;
    if (this.isCalled || this.isSettled) return !this.isOnTheClock;
    if (this.#heldCount === this.#sorted.length) return false; // about to be called
    return !this.isOnTheClock || this.#heldCount === 0;
  }
}

/** requestSync(): it is over when it returns. All managers live in one thread. */
class PlayedSync extends PlayedCall {
  start(locks, nameOf) {
    const { way, name } = this.step;
    const { mode, priority, maxPending } = this.options;
    const options = {
      mode,
      priority,
      ...(way === 'ifAvailable' ? { ifAvailable: true } : { maxPending }),
    };
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
