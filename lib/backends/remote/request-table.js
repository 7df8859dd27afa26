'use strict';

const { dateNow, queueMicrotask } = require('../../time.js');
const { LockLostError } = require('../../errors.js');

/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */
/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LockLossReason */
/** @typedef {import('../../../types/scheduler.d.ts').TaskPriority} TaskPriority */

/**
 * A request as the agent sends it to the session.
 * @typedef {object} RequestMessage
 * @property {number} number
 * @property {string} name
 * @property {'exclusive' | 'shared'} mode
 * @property {boolean} ifAvailable
 * @property {boolean} steal
 * @property {number} since  when it was requested, in milliseconds since 1970
 * @property {{ limit: number, holdLimit: number, maxPending: number,
 *   priority: TaskPriority, label: string, callSite: string, enclosing: string | null }
 *   | undefined} extras
 */

/** @typedef {{ name: string, message: string }} ErrorMessage  of the session's thread */

/** @param {ErrorMessage | Error} error  an error is passed on as it is */
const toDOMException = (error) =>
  error instanceof Error
    ? /** @type {DOMException} */ (error)
    : new DOMException(error.message, error.name);

/**
 * @param {number} number
 * @param {Request} request
 * @returns {RequestMessage}
 */
function toRequestMessage(number, { name, mode, ifAvailable, steal, extras }) {
  const since = dateNow();
  if (extras === undefined) {
    return { number, name, mode, ifAvailable, steal, since, extras };
  }
  const { limit, holdLimit, maxPending, priority, label, callSite, enclosing } = extras;
  const token = enclosing === undefined ? null : String(tokenOf(enclosing));
  return {
    number,
    name,
    mode,
    ifAvailable,
    steal,
    since,
    extras: { limit, holdLimit, maxPending, priority, label, callSite, enclosing: token },
  };
}

/** @param {{ tokenHigh: number, tokenLow: number }} halves */
const tokenOf = ({ tokenHigh, tokenLow }) =>
  (BigInt(tokenHigh >>> 0) << 32n) | BigInt(tokenLow >>> 0);

/**
 * @param {Request} request
 * @param {bigint} token
 */
function setToken(request, token) {
  request.tokenHigh = Number(token >> 32n);
  request.tokenLow = Number(token & 0xffff_ffffn);
}

/** A request that was made, until its end has taken effect. */
class Entry {
  /** The cluster has answered that it waits. */
  isAnswered = false;
  isHeld = false;
  /**
   * @type {TaskPriority | null | undefined} the highest priority that waits for its lock, as far as
   *   it is known; null: none waits; undefined: it is not watched
   */
  waiting = undefined;
  /** @type {((loss: LockLossReason | undefined) => void) | undefined} it is being ended */
  onEnded = undefined;

  /**
   * @param {number} number
   * @param {Request} request
   * @param {number} at  when it was made, or released, by a clock of the backend
   */
  constructor(number, request, at) {
    this.number = number;
    this.request = request;
    this.at = at;
  }
}

/**
 * The outcome of the request that the thread is blocked for.
 * @typedef {object} SyncWait
 * @property {number} number
 * @property {import('../../../types/backend.d.ts').SyncOutcome | undefined} outcome
 * @property {unknown} failure
 */

const NO_ID = -1;

/** The requests of an agent, and what the session's thread says of them. */
class RequestTable {
  #loopKeepAlive;
  /** @type {Map<number, Entry>} */
  #entries = new Map();
  #heldCount = 0;
  #lastNumber = 0;
  /** @type {any[]} that came while the thread was blocked by something else */
  #postponed = [];
  /** @type {SyncWait | undefined} */
  #wait = undefined;

  #refuse;
  #sessionLost;
  #onChange;

  /**
   * @param {import('../../loop-keep-alive.js').LoopKeepAlive} loopKeepAlive
   * @param {string | undefined} server  its name in messages; undefined: no session with it ends
   * @param {(message: any) => boolean} refuse  a grant that came too late: its session is over
   * @param {() => void} onChange  of isEmpty
   */
  constructor(loopKeepAlive, server, refuse, onChange) {
    this.#sessionLost =
      server === undefined
        ? undefined
        : `its session with ${server} is over: ` +
          'the server was not reached in time, has ended it, or refuses it';
    this.#loopKeepAlive = loopKeepAlive;
    this.#refuse = refuse;
    this.#onChange = onChange;
  }

  /** The highest number so far. */
  get lastNumber() {
    return this.#lastNumber;
  }

  values() {
    return this.#entries.values();
  }

  /** @param {number} number */
  get(number) {
    return this.#entries.get(number);
  }

  /**
   * @param {Request} request
   * @param {number} [at]  see Entry
   * @returns {number} of the request
   */
  add(request, at = 0) {
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    request.backendId = number;
    this.#entries.set(number, new Entry(number, request, at));
    this.#loopKeepAlive.ref();
    this.#onChange();
    return number;
  }

  /** @param {Request} request */
  find(request) {
    return this.#entries.get(request.backendId);
  }

  get isEmpty() {
    return this.#entries.size === 0;
  }

  /** It has a lock whose release has not taken effect. */
  get hasLocks() {
    return this.#heldCount > 0;
  }

  /**
   * Of all that have this name and are not being ended.
   * @param {string} name
   * @param {Request} except
   * @returns {number[]}
   */
  numbersOf(name, except) {
    const entries = [...this.#entries.values()].filter(
      ({ request, onEnded }) =>
        request.name === name && request !== except && onEnded === undefined,
    );
    return entries.map(({ number }) => number);
  }

  /**
   * Of all that are not being ended.
   * @param {string} name
   */
  modesOf(name) {
    const entries = [...this.#entries.values()].filter(
      ({ request, onEnded }) => request.name === name && onEnded === undefined,
    );
    return entries.map(({ request }) => request.mode);
  }

  /**
   * @param {Request} request
   * @returns {Entry | undefined} undefined when it was forgotten before
   */
  forget(request) {
    const entry = this.find(request);
    request.backendId = NO_ID;
    return entry?.request === request ? entry : undefined;
  }

  /**
   * Returns how a lock was lost, if that was not reported yet.
   * @param {Entry} entry
   * @returns {LockLossReason | undefined}
   */
  takeLoss(entry) {
    const isLoss = (/** @type {any} */ { type, number }) =>
      type === 'lost' && number === entry.number;
    const loss = this.#postponed.find(isLoss);
    if (loss === undefined) return undefined;
    this.remove(entry);
    return loss.reason;
  }

  /** Nothing is reported of it any more. @param {Entry} entry */
  remove({ number, isHeld }) {
    if (this.#entries.delete(number) && isHeld) this.#heldCount -= 1;
    this.#onChange();
  }

  /**
   * The thread is blocked for this request from now on.
   * @param {number} number
   * @returns {SyncWait}
   */
  beginWait(number) {
    const wait = { number, outcome: undefined, failure: undefined };
    this.#wait = wait;
    const isOwn = (/** @type {any} */ message) => message.number === number;
    const early = this.#postponed.filter(isOwn);
    this.#postponed = this.#postponed.filter((message) => !isOwn(message));
    for (const message of early) this.onMessage(message);
    return wait;
  }

  endWait() {
    this.#wait = undefined;
  }

  /**
   * Called while the thread is blocked: messages about other requests are delivered afterwards.
   * @param {any} message
   */
  onMessageInside(message) {
    const entry = this.#entries.get(message.number);
    const isOther = entry !== undefined && entry.onEnded === undefined;
    if (!isOther || message.number === this.#wait?.number) {
      this.onMessage(message);
      return;
    }
    this.#postponed.push(message);
    queueMicrotask(() => {
      for (const postponed of this.#postponed.splice(0)) this.onMessage(postponed);
    });
  }

  /**
   * Does it when all that has come before is delivered.
   * @param {() => void} action
   */
  afterPostponed(action) {
    if (this.#postponed.length === 0) action();
    else queueMicrotask(action);
  }

  /** @param {any} message */
  onMessage(message) {
    const entry = this.#entries.get(message.number);
    if (entry === undefined) return;
    if (entry.onEnded === undefined) this.#onDecided(entry, message);
    else this.#onEnding(entry, message);
  }

  /**
   * @param {() => DOMException} makeError  creates the error of the waiting requests
   * @param {string} because  for those that hold a lock
   */
  dropAll(makeError, because) {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    this.#heldCount = 0;
    this.#onChange();
    for (const { request, isHeld, onEnded } of entries) {
      request.backendId = NO_ID;
      // A lock under release is free, too, when the session is closed.
      if (onEnded !== undefined) onEnded(undefined);
      else if (isHeld) request.lost('disconnected', because);
      else request.failed(makeError());
    }
  }

  /**
   * The session's thread says nothing any more.
   * @param {DOMException} error  of the requests without a lock
   * @param {(message: any) => void} deliver
   */
  loseAll(error, deliver) {
    const loss = { type: 'lost', reason: 'disconnected', error };
    for (const number of [...this.#entries.keys()]) deliver({ ...loss, number });
  }

  /**
   * The wait for this request, if the thread is blocked for it.
   * @param {number} number
   */
  #waitFor(number) {
    return number === this.#wait?.number ? this.#wait : undefined;
  }

  /**
   * @param {Entry} entry
   * @param {any} message
   */
  #onDecided(entry, message) {
    const { request } = entry;
    const { type, number } = message;
    const wait = this.#waitFor(number);
    if (type === 'granted') {
      setToken(request, BigInt(message.token));
      this.#loopKeepAlive.unref();
      if (this.#refuse(message)) {
        this.#loseGrant(entry, wait);
        return;
      }
      entry.isHeld = true;
      this.#heldCount += 1;
      if (wait === undefined) request.granted();
      else wait.outcome = 'granted';
      return;
    }
    if (type === 'contended') {
      entry.waiting = message.priority;
      return request.contentionChanged(message.priority);
    }
    if (type === 'queued' || type === 'deadlock') {
      entry.isAnswered = true;
      if (type === 'deadlock' && wait !== undefined) wait.outcome = type;
      return;
    }
    // Lost before this thread received the grant, or its server knows another one.
    if (type === 'lost' && (message.token ?? 0n) !== 0n) setToken(request, message.token);
    this.remove(entry);
    if (!entry.isHeld) this.#loopKeepAlive.unref();
    this.#notifyEnd(entry, message);
  }

  /**
   * The lock is lost before its callback begins.
   * @param {Entry} entry
   * @param {SyncWait | undefined} wait
   */
  #loseGrant(entry, wait) {
    const { request } = entry;
    this.remove(entry);
    request.backendId = NO_ID;
    if (wait === undefined) request.lost('disconnected', this.#sessionLost);
    else
      wait.failure = new LockLostError(
        'disconnected',
        tokenOf(request),
        request.name,
        this.#sessionLost,
      );
  }

  /**
   * @param {Entry} entry
   * @param {any} message
   */
  #notifyEnd({ request, isHeld }, { type, number, reason, error }) {
    request.backendId = NO_ID;
    const wait = isHeld ? undefined : this.#waitFor(number);
    if (type === 'missed') {
      if (wait === undefined) request.missed();
      else wait.outcome = 'missed';
    } else if (type === 'lost' && (isHeld || error === undefined)) {
      request.lost(
        reason,
        error?.message ?? (reason === 'disconnected' ? this.#sessionLost : undefined),
      );
    } else if (error !== undefined) {
      if (wait === undefined) request.failed(toDOMException(error));
      else wait.failure = toDOMException(error);
    }
  }

  /**
   * Handles a message about a request that the agent has released or cancelled.
   * @param {Entry} entry
   * @param {any} message
   */
  #onEnding(entry, { type, loss, reason }) {
    if (['granted', 'queued', 'deadlock', 'contended'].includes(type)) return;
    this.remove(entry);
    this.#loopKeepAlive.unref();
    entry.onEnded?.(type === 'lost' ? reason : loss);
  }
}

module.exports = { Entry, RequestTable, toDOMException, toRequestMessage };
