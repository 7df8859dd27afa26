'use strict';

const { queueMicrotask, setTimeout } = require('../../time.js');
const os = require('node:os');
const { threadId } = require('node:worker_threads');
const { abortError, invalidStateError } = require('../../errors.js');
const { LoopKeepAlive } = require('../../loop-keep-alive.js');
const { createClientId } = require('../client-id.js');
const { doNotLeaveAtExit, leaveAtExit } = require('../shared-memory/exit-hook.js');
const { QUEUED } = require('../outcome.js');
const { setToken, toAsk } = require('./ask.js');
const { Entry } = require('./entry.js');
const { toDOMException } = require('./etcd-errors.js');
const { EtcdWatch } = require('./etcd-watch.js');
const { loadServices } = require('./grpc-library.js');
const { toOwnInspection, toOwnSnapshot } = require('./own-realm.js');
const { Questions } = require('./questions.js');
const { SessionLink } = require('./session-link.js');

/** @typedef {import('../../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */
/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LockLossReason */

const NO_ID = -1;
const CLOSED = 'The lock manager is closed';
/** How long an exit waits for the cluster; later the lease ends by itself. */
const EXIT_WAIT_MS = 1000;

/**
 * The backend over an etcd cluster: it passes requests to the session's thread, and the thread's
 * answers to the requests.
 * @implements {LockBackend}
 */
class EtcdBackend {
  clientId = createClientId();
  #link;
  /** @type {Map<number, Entry>} */
  #entries = new Map();
  #lastNumber = 0;
  #questions = new Questions((message) => this.#link.post(message));
  #lastWatchId = 0;
  /** @type {Map<number, EtcdWatch>} */
  #watches = new Map();
  /** @type {any[]} that came while the thread was blocked by something else */
  #postponed = [];
  /** Of what waits for the session's thread. */
  #loopKeepAlive = new LoopKeepAlive();
  #isClosed = false;
  /** Of the request that the thread is blocked for. */
  #syncNumber = NO_ID;
  /** The last one: where it gives up, its place is free before it says so. */
  #waitedFor = NO_ID;
  /** @type {(type: any, error: unknown) => void} */
  #onSync = () => {};

  /** @param {import('./cluster-options.js').ClusterOptions} place */
  constructor(place) {
    loadServices(); // a missing library is reported here, not in the other thread
    const about = { clientId: this.clientId, pid: process.pid, threadId, host: os.hostname() };
    this.#link = new SessionLink(
      { place, about },
      (message) => this.#onMessage(message),
      (error) => this.#onThreadLost(error),
    );
    leaveAtExit(this);
  }

  /**
   * @param {Request} request
   */
  enqueue(request) {
    this.#checkOpen();
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    request.backendId = number;
    this.#entries.set(number, new Entry(number, request));
    this.#loopKeepAlive.ref();
    this.#link.post({ type: 'ask', ask: toAsk(number, request) });
    return QUEUED;
  }

  /**
   * @param {Request} request
   * @returns {Promise<LockLossReason | undefined> | LockLossReason | undefined}
   */
  release(request) {
    const entry = this.#forget(request);
    if (entry === undefined) return undefined;
    const loss = this.#takeLoss(entry);
    if (loss !== undefined) return loss;
    return new Promise((resolve) => {
      this.#end(entry, resolve, undefined);
    });
  }

  /**
   * Like release(), and blocks until it is in effect.
   * @param {Request} request
   * @returns {LockLossReason | undefined}
   */
  releaseSync(request) {
    const entry = this.#forget(request);
    if (entry === undefined) return undefined;
    const lossBefore = this.#takeLoss(entry);
    if (lossBefore !== undefined) return lossBefore;
    /** @type {{ loss: LockLossReason | undefined } | undefined} */
    let answer;
    this.#end(entry, (loss) => (answer = { loss }), undefined);
    this.#block(Infinity, () => answer !== undefined);
    return /** @type {any} */ (answer)?.loss;
  }

  /**
   * @param {Request} request
   * @param {boolean} [isTimeout]
   */
  cancel(request, isTimeout = false) {
    const entry = this.#forget(request);
    if (entry === undefined) return;
    let isOver = false;
    this.#end(entry, () => (isOver = true), isTimeout ? 'timedout' : undefined);
    if (entry.number === this.#waitedFor) this.#block(Infinity, () => isOver);
  }

  /** @param {Request} request */
  isUndecided(request) {
    return this.#entries.get(request.backendId)?.isAnswered === false;
  }

  /**
   * @param {Request} request
   * @param {number} timeout
   * @returns {import('../../../types/backend.d.ts').SyncOutcome}
   */
  waitSync(request, timeout) {
    /** @type {any} */
    let outcome;
    /** @type {unknown} */
    let failure;
    const number = request.backendId;
    this.#waitedFor = number;
    this.#onSync = (type, error) => {
      failure = error;
      outcome = type;
    };
    this.#syncNumber = number;
    this.#link.post({ type: 'findSelfWait', number });
    const isOwn = (/** @type {any} */ message) => message.number === number;
    const early = this.#postponed.filter(isOwn);
    this.#postponed = this.#postponed.filter((message) => !isOwn(message));
    for (const message of early) this.#onMessage(message);
    this.#block(timeout, () => outcome !== undefined);
    this.#syncNumber = NO_ID;
    if (failure !== undefined) throw failure;
    return outcome ?? 'timeout';
  }

  async snapshot() {
    return toOwnSnapshot(await this.#ask({ type: 'inspect' }));
  }

  async inspect() {
    return toOwnInspection(await this.#ask({ type: 'inspect' }));
  }

  /** What metrics show of the session. */
  status() {
    return this.#ask({ type: 'status' });
  }

  /**
   * Blocks for a round trip to the cluster.
   * @param {string} name
   * @param {number} [min]
   * @returns {boolean}
   */
  isLocked(name, min = 1) {
    this.#checkOpen();
    return this.#questions.askSync({ type: 'isLocked', name, min }, (isAnswered) =>
      this.#block(Infinity, isAnswered),
    );
  }

  /** @param {string} name @param {number} max @param {boolean} [isBlocking] */
  holdersOf(name, max, isBlocking = false) {
    if (this.#isClosed) return [];
    const question = { type: 'holdersOf', name, max };
    if (!isBlocking) return this.#ask(question).catch(() => []);
    return this.#questions.askSync(question, (isAnswered) => this.#block(Infinity, isAnswered));
  }

  /** @param {string | undefined} name */
  watch(name) {
    this.#checkOpen();
    this.#lastWatchId += 1;
    const id = this.#lastWatchId;
    const watch = new EtcdWatch(() => {
      this.#watches.delete(id);
      if (!this.#isClosed) this.#link.post({ type: 'unwatch', id });
    });
    this.#watches.set(id, watch);
    this.#link.post({ type: 'watch', id, name });
    return watch;
  }

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#link.ref(); // until the cluster knows
    setTimeout(() => this.#link.unref(), EXIT_WAIT_MS).unref();
    this.#link.post({ type: 'close' });
    this.#dropAll(() => abortError('The lock manager was closed while the request waited'));
  }

  /** The thread is about to end: waits briefly until everything is released. */
  leave() {
    if (!this.#isClosed) this.#link.post({ type: 'close' });
    this.#isClosed = true;
    this.#block(EXIT_WAIT_MS, () => this.#link.isOver);
  }

  /** @param {() => DOMException} makeError  creates the error of the waiting requests */
  #dropAll(makeError) {
    for (const watch of [...this.#watches.values()]) watch.close();
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    for (const { request, isHeld, onEnded } of entries) {
      request.backendId = NO_ID;
      if (onEnded !== undefined) onEnded(isHeld ? 'disconnected' : undefined);
      else if (isHeld) request.lost('disconnected');
      else request.failed(makeError());
    }
    this.#questions.rejectAll(() => invalidStateError(CLOSED));
    this.#loopKeepAlive.end();
  }

  /** @param {Error} error */
  #onThreadLost(error) {
    this.#isClosed = true;
    doNotLeaveAtExit(this);
    this.#dropAll(() => invalidStateError(`The session with etcd has failed: ${error.message}`));
  }

  /**
   * @param {object} question
   * @returns {Promise<any>}
   */
  #ask(question) {
    this.#checkOpen();
    this.#loopKeepAlive.ref();
    return this.#questions.ask(question).finally(() => {
      if (!this.#isClosed) this.#loopKeepAlive.unref();
    });
  }

  /**
   * @param {number} timeout  in milliseconds
   * @param {() => boolean} isEnough
   */
  #block(timeout, isEnough) {
    this.#link.block(timeout, isEnough, (message) => this.#onMessageInside(message));
  }

  /**
   * Called while the thread is blocked: messages about other requests are delivered afterwards.
   * @param {any} message
   */
  #onMessageInside(message) {
    const entry = this.#entries.get(message.number);
    const isOther = entry !== undefined && entry.onEnded === undefined;
    if (!isOther || message.number === this.#syncNumber) {
      this.#onMessage(message);
      return;
    }
    this.#postponed.push(message);
    queueMicrotask(() => {
      for (const postponed of this.#postponed.splice(0)) this.#onMessage(postponed);
    });
  }

  /** @param {any} message */
  #onMessage(message) {
    if (message.type === 'closed') {
      doNotLeaveAtExit(this);
    } else if (message.type === 'reply') {
      this.#questions.onReply(message);
    } else if (message.type === 'events') {
      this.#watches.get(message.id)?.take(message.events);
    } else {
      const entry = this.#entries.get(message.number);
      if (entry !== undefined) this.#onDecided(entry, message);
    }
  }

  /**
   * @param {Entry} entry
   * @param {any} message
   */
  #onDecided(entry, message) {
    const { request } = entry;
    const { type, number } = message;
    if (entry.onEnded !== undefined) {
      this.#onEnding(entry, message);
      return;
    }
    if (type === 'granted') {
      entry.isHeld = true;
      setToken(request, BigInt(message.token));
      this.#loopKeepAlive.unref();
      if (number === this.#syncNumber) this.#onSync('granted', undefined);
      else request.granted();
      return;
    }
    if (type === 'queued' || type === 'deadlock') {
      entry.isAnswered = true;
      if (type === 'deadlock' && number === this.#syncNumber) this.#onSync(type, undefined);
      return;
    }
    this.#entries.delete(number);
    if (!entry.isHeld) this.#loopKeepAlive.unref();
    this.#tellEnd(entry, message);
  }

  /**
   * @param {Entry} entry
   * @param {any} message
   */
  #tellEnd({ request, isHeld }, { type, number, reason, error }) {
    request.backendId = NO_ID;
    const isSync = number === this.#syncNumber && !isHeld;
    if (type === 'missed') {
      if (isSync) this.#onSync('missed', undefined);
      else request.missed();
    } else if (type === 'lost') {
      request.lost(reason);
    } else if (type === 'failed') {
      if (isSync) this.#onSync(undefined, toDOMException(error));
      else request.failed(toDOMException(error));
    }
  }

  /**
   * Handles a message about a request that the agent has released or cancelled.
   * @param {Entry} entry
   * @param {any} message
   */
  #onEnding(entry, { type, number, loss, reason }) {
    if (type === 'granted' || type === 'queued' || type === 'deadlock') return;
    this.#entries.delete(number);
    this.#loopKeepAlive.unref();
    entry.onEnded?.(type === 'lost' ? reason : loss);
  }

  /**
   * @param {Request} request
   * @returns {Entry | undefined} undefined when it was forgotten before
   */
  #forget(request) {
    const entry = this.#entries.get(request.backendId);
    request.backendId = NO_ID;
    return entry?.request === request ? entry : undefined;
  }

  /**
   * Returns how a lock was lost, if that was not reported yet.
   * @param {Entry} entry
   * @returns {LockLossReason | undefined}
   */
  #takeLoss(entry) {
    const isLoss = (/** @type {any} */ { type, number }) =>
      type === 'lost' && number === entry.number;
    const loss = this.#postponed.find(isLoss);
    if (loss === undefined) return undefined;
    this.#entries.delete(entry.number);
    return loss.reason;
  }

  /**
   * @param {Entry} entry
   * @param {(loss: LockLossReason | undefined) => void} onEnded
   * @param {'timedout' | undefined} why
   */
  #end(entry, onEnded, why) {
    if (this.#isClosed) {
      onEnded(undefined);
      return;
    }
    if (entry.isHeld) this.#loopKeepAlive.ref(); // until it is in effect
    entry.onEnded = onEnded;
    this.#link.post({ type: 'end', number: entry.number, why });
  }

  #checkOpen() {
    if (this.#isClosed) throw invalidStateError(CLOSED);
  }
}

module.exports = { EtcdBackend };
