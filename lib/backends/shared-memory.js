'use strict';

const path = require('node:path');
const { setTimeout } = require('node:timers');
const { threadId } = require('node:worker_threads');
const { loadBinding } = require('../binding.js');
const { abortError, invalidStateError } = require('../errors.js');
const { createClientId } = require('./client-id.js');
const { doNotLeaveAtExit, leaveAtExit } = require('./leave-at-exit.js');
const { defaultDirectory, toBucketName } = require('./bucket-place.js');
const { toLockDetails, toLockInfos } = require('./flat-locks.js');
const { LastWords } = require('./last-words.js');
const { toError } = require('./native-error.js');
const {
  IF_AVAILABLE,
  LOSS_EXPIRED,
  MOST_NEWS,
  NEWS_EXPIRED,
  NEWS_FAILED,
  NEWS_GRANTED,
  NEWS_LOST,
  NEWS_MISSED,
  NEWS_STALLED,
  NEWS_WORDS,
  OUTCOME_BITS,
  SHARED,
  STEAL,
  TOKEN_WORDS,
} = require('./native-numbers.js');
const { MISSED, GRANTED } = require('./outcome.js');
const { SharedMemoryWatch } = require('./shared-memory-watch.js');
const { warnOfStall } = require('./stall-warning.js');
const { waitInSlices } = require('./wait-in-slices.js');

/** @typedef {import('../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('../../types/backend.d.ts').LockBackendRequest} Request */
/** @typedef {import('../../types/backend.d.ts').LockLossReason} LockLossReason */
/** @typedef {import('../../types/backend.d.ts').LockOutcome} LockOutcome */
/** @typedef {import('../../types/backend.d.ts').LockInspection} LockInspection */
/** @typedef {import('../../types/locks.d.ts').LockManagerSnapshot} LockManagerSnapshot */
/** @typedef {import('./flat-locks.js').FlatLocks} FlatLocks */

const OUTCOME_MASK = (1 << OUTCOME_BITS) - 1;
const NO_ID = -1;
const REPLACED = 'The lock table was removed or replaced';
/** How long a snapshot that met a busy table waits before it is tried again. */
const SNAPSHOT_RETRY_MS = 2;

/**
 * The backend over the lock table in shared memory: one agent of a bucket. Ids and numbers cross to
 * the native part, promises and callbacks stay here.
 * @implements {LockBackend}
 */
class SharedMemoryBackend {
  clientId = createClientId();
  #native = loadBinding();
  #options;
  /** The native agent; null after the lock table was lost, until the next use opens the new one. */
  #agent;
  /** Shared with the native part: the token of a grant, then news. */
  #words;
  /** @type {(Request | null)[]} what this agent holds or waits for, by the native part's id */
  #requests = [];
  #lastWords = new LastWords();
  /** @type {Set<SharedMemoryWatch>} */
  #watches = new Set();
  #isClosed = false;

  /**
   * @param {{ bucket?: string, directory?: string, capacity?: number, sweeps?: boolean }} [options]
   * `sweeps: false` is for tests: it takes away the net that finds what the mechanisms might miss
   * @throws DOMException when the bucket cannot be opened, with what to do about it
   */
  constructor({ bucket = 'default', directory, capacity, sweeps = true } = {}) {
    this.#words = new Uint32Array(TOKEN_WORDS + NEWS_WORDS * MOST_NEWS);
    this.#options = {
      bucket: toBucketName(bucket),
      capacity: capacity ?? this.#native.DEFAULT_CAPACITY,
      clientId: this.clientId,
      directory: path.resolve(directory ?? defaultDirectory()),
      sweeps,
      threadId,
    };
    this.#agent = this.#open();
    leaveAtExit(this);
  }

  /**
   * @param {Request} request
   * @returns {LockOutcome}
   */
  enqueue(request) {
    this.#checkOpen();
    this.#agent ??= this.#open();
    let flags = 0;
    if (request.mode === 'shared') flags |= SHARED;
    if (request.ifAvailable) flags |= IF_AVAILABLE;
    if (request.steal) flags |= STEAL;
    const { extras } = request;
    const answer =
      extras === undefined
        ? this.#agent.request(request.name, flags)
        : this.#agent.requestWithExtras(
            request.name,
            flags,
            extras.limit,
            extras.holdLimit,
            extras.label,
            extras.enclosing?.tokenHigh ?? 0,
            extras.enclosing?.tokenLow ?? 0,
            extras.callSite,
          );
    if (answer < 0) throw this.#fail();
    const outcome = answer & OUTCOME_MASK;
    if (outcome === MISSED) return MISSED;
    const id = answer >>> OUTCOME_BITS;
    this.#requests[id] = request;
    request.backendId = id;
    if (outcome === GRANTED) this.#setToken(request, 0);
    return /** @type {LockOutcome} */ (outcome);
  }

  /**
   * @param {Request} request
   * @returns {LockLossReason | undefined}
   */
  release(request) {
    if (request.backendId === NO_ID) return this.#lastWords.take(request);
    const loss = this.#end(request);
    if (loss === 0) return undefined;
    return loss === LOSS_EXPIRED ? 'expired' : 'stolen';
  }

  /**
   * @param {Request} request
   * @param {boolean} [isTimeout]
   */
  cancel(request, isTimeout = false) {
    if (this.#lastWords.take(request) !== undefined || request.backendId === NO_ID) return;
    const id = request.backendId;
    this.#forget(request);
    if (isTimeout) this.#agent.timeOut(id);
    else this.#agent.end(id);
  }

  /**
   * @param {Request} request
   * @param {number} timeout
   * @returns {import('../../types/backend.d.ts').SyncOutcome}
   */
  waitSync(request, timeout) {
    return waitInSlices(timeout, (ms) => {
      if (this.#agent.waitsForItself(request.backendId)) return 'deadlock';
      const kind = this.#agent.waitFor(request.backendId, ms);
      return kind < 0 ? this.#hearOthers(request) : this.#decide(request, kind);
    });
  }

  /** @returns {Promise<LockManagerSnapshot>} */
  async snapshot() {
    const [held, pending] = await this.#view((agent) => agent.snapshot());
    return { held: toLockInfos(held), pending: toLockInfos(pending) };
  }

  /** @returns {Promise<LockInspection>} */
  async inspect() {
    const [held, pending] = await this.#view((agent) => agent.inspect());
    const now = Date.now();
    return { held: toLockDetails(held, now), pending: toLockDetails(pending, now) };
  }

  /**
   * A holder that is dead does not count. Where a stopped process keeps the table from being read,
   * the answer is true: then nobody gets the lock either.
   * @param {string} name
   * @param {number} [least]
   * @returns {boolean}
   */
  isLocked(name, least = 1) {
    this.#checkOpen();
    this.#agent ??= this.#open();
    const answer = this.#agent.isLocked(name, least);
    if (answer < 0) throw this.#fail();
    return answer === 1;
  }

  /**
   * @param {string | undefined} name
   * @returns {SharedMemoryWatch}
   */
  watch(name) {
    this.#checkOpen();
    const agent = (this.#agent ??= this.#open());
    const id = agent.openWatch(name);
    if (id < 0) throw this.#fail();
    const watch = new SharedMemoryWatch(
      (most) => this.#readWatch(agent, id, most),
      () => {
        this.#watches.delete(watch);
        if (this.#agent === agent) agent.closeWatch(id);
      },
    );
    this.#watches.add(watch);
    return watch;
  }

  /** Gives everything back without telling anybody: the thread is about to end. */
  leave() {
    this.#isClosed = true;
    this.#agent?.close(true);
  }

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    doNotLeaveAtExit(this);
    for (const watch of this.#watches) watch.close();
    if (this.#agent === null) return;
    this.#giveUp(() => abortError('The lock manager was closed while the request waited'));
    // At once: a callback that was about to run must not run beside the next holder.
    this.#lastWords.say();
  }

  /** @returns {any} the native agent */
  #open() {
    try {
      return this.#native.openAgent(this.#options, this.#words, () => this.#onNews());
    } catch (error) {
      const { name, message, code } = /** @type {any} */ (error);
      const { directory, bucket } = this.#options;
      throw toError({ name, message: `${message}: ${path.join(directory, bucket)}`, code });
    }
  }

  /**
   * Ends the native agent; all its requests are told in a later microtask, or by the caller.
   * @param {() => DOMException} makeError  what those that wait fail with
   */
  #giveUp(makeError) {
    for (const request of this.#requests) {
      if (request === null) continue;
      // Told of its grant, or about to be; it may be about to be told of a loss, too.
      const isHeld = request.tokenHigh !== 0 || this.#agent.isHeld(request.backendId);
      const tell = isHeld ? () => request.lost('disconnected') : () => request.failed(makeError());
      this.#lastWords.add(request, 'disconnected', tell);
      request.backendId = NO_ID;
    }
    this.#agent.close(false);
    this.#agent = null;
    this.#requests = [];
    queueMicrotask(() => this.#lastWords.say());
  }

  /** @param {Request} request */
  #end(request) {
    const id = request.backendId;
    if (id === NO_ID) return 0;
    this.#forget(request);
    return this.#agent.end(id);
  }

  /** @param {Request} request */
  #forget(request) {
    this.#requests[request.backendId] = null;
    request.backendId = NO_ID;
  }

  /**
   * What waitSync() was told of its request.
   * @param {Request} request
   * @param {number} kind  of the news
   */
  #decide(request, kind) {
    const error = kind === NEWS_FAILED ? toError(this.#agent.lastError()) : undefined;
    // A damaged record has no token.
    if (error === undefined && this.#words[0] !== 0) this.#setToken(request, 0);
    if (kind !== NEWS_GRANTED) this.#forget(request);
    if (kind === NEWS_LOST) this.#lastWords.add(request, 'stolen');
    if (kind === NEWS_EXPIRED) this.#lastWords.add(request, 'expired');
    this.#onNews();
    if (error !== undefined) throw error;
    return kind === NEWS_MISSED ? 'missed' : 'granted';
  }

  /**
   * What came during waitSync() for the other requests of this agent.
   * @param {Request} request  that still waits
   */
  #hearOthers(request) {
    this.#onNews();
    if (this.#lastWords.take(request) !== undefined) throw invalidStateError(REPLACED);
    return undefined;
  }

  /**
   * @param {(agent: any) => [FlatLocks, FlatLocks] | null | undefined} look
   * @returns {Promise<[FlatLocks, FlatLocks]>} held, pending
   */
  async #view(look) {
    for (;;) {
      this.#checkOpen();
      this.#agent ??= this.#open();
      const flat = look(this.#agent);
      if (flat === undefined) throw this.#fail();
      if (flat !== null) return flat;
      await new Promise((resolve) => setTimeout(resolve, SNAPSHOT_RETRY_MS));
    }
  }

  /**
   * @param {any} agent  that the watch is of
   * @param {number} id
   * @param {number} most
   * @returns {import('./flat-events.js').FlatEvents}
   */
  #readWatch(agent, id, most) {
    if (this.#agent !== agent) throw invalidStateError(REPLACED);
    const flat = agent.readWatch(id, most);
    if (flat === undefined) throw this.#fail();
    return flat;
  }

  /** What the last call of the native agent failed with; gives the agent up if it cannot go on. */
  #fail() {
    const error = toError(this.#agent.lastError());
    if (!this.#agent.isConnected()) this.#disconnect();
    return error;
  }

  /** The lock table was removed or replaced: all is lost, and the next use opens the new one. */
  #disconnect() {
    this.#giveUp(() => invalidStateError(REPLACED));
  }

  /** Whoever is told something may close this backend: the rest has heard that then. */
  #onNews() {
    const agent = this.#agent;
    for (let count = agent.readNews(); count > 0; count = agent.readNews()) {
      for (let i = 0; i < count; i += 1) {
        this.#report(TOKEN_WORDS + i * NEWS_WORDS);
        if (this.#agent !== agent) return;
      }
    }
    if (!agent.isConnected()) this.#disconnect();
  }

  /** @param {number} at  where in the shared words a piece of news begins */
  #report(at) {
    const request = this.#requests[this.#words[at]];
    if (request === null || request === undefined) return;
    const kind = this.#words[at + 1];
    if (kind === NEWS_GRANTED) {
      this.#setToken(request, at + 2);
      request.granted();
      return;
    }
    if (kind === NEWS_STALLED) return warnOfStall(request.name, this.#words[at + 3]);
    this.#forget(request);
    if (kind === NEWS_LOST || kind === NEWS_EXPIRED) {
      // The loss may be the first that is heard of the grant. A damaged record has no token.
      if (this.#words[at + 2] !== 0) this.#setToken(request, at + 2);
      request.lost(kind === NEWS_EXPIRED ? 'expired' : 'stolen');
    } else if (kind === NEWS_MISSED) request.missed();
    else request.failed(/** @type {DOMException} */ (toError(this.#agent.lastError())));
  }

  /**
   * @param {Request} request
   * @param {number} at
   */
  #setToken(request, at) {
    request.tokenHigh = this.#words[at];
    request.tokenLow = this.#words[at + 1];
  }

  #checkOpen() {
    if (this.#isClosed) throw invalidStateError('The lock manager is closed');
  }
}

module.exports = { SharedMemoryBackend };
