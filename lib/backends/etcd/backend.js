'use strict';

const { apply, performance, setTimeout, then } = require('../../time.js');
const { threadId } = require('node:worker_threads');
const { WAS_CLOSED, closedError, invalidStateError } = require('../../errors.js');
const { LoopKeepAlive } = require('../../loop-keep-alive.js');
const { createClientId } = require('../client-id.js');
const { hostname } = require('../host.js');
const { noteAttached } = require('../idle-agents.js');
const { pidNamespace } = require('../pid-namespace.js');
const { doNotLeaveAfterExit, leaveAfterExit } = require('./after-exit.js');
const { QUEUED } = require('../outcome.js');
const { needRoom } = require('../stack-room.js');
const { addThreadUser } = require('../thread-users.js');
const { checkTexts } = require('../text-limits.js');
const { toAsk } = require('./ask.js');
const { EtcdWatch } = require('./etcd-watch.js');
const { loadServices } = require('./grpc-library.js');
const { agents, findOwnRequests } = require('./own-requests.js');
const { toOwnInspection, toOwnSnapshot } = require('./own-realm.js');
const { Questions } = require('./questions.js');
const { RequestTable } = require('./request-table.js');
const { SessionLink } = require('./session-link.js');

/** @typedef {import('./entry.js').Entry} Entry */
/** @typedef {import('../../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */
/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LockLossReason */

const NO_ID = -1;
const CLOSED = 'The lock manager is closed';
/** How long an exit waits for the cluster; later the lease runs out. */
const EXIT_WAIT_MS = 1000;
/** An answer may wait for a session that begins, and for a watch that is silent. */
const MIN_ANSWER_MS = 10_000;
/**
 * A change names the key of its lock up to seven times, in base64: at most four bytes per code
 * unit. By default etcd takes 1.5 MiB, labels included.
 */
const MAX_NAME_UNITS = 2 ** 15;

/**
 * The backend over an etcd cluster: it passes requests to the session's thread, and the thread's
 * answers to the requests.
 * @implements {LockBackend}
 */
class EtcdBackend {
  clientId = createClientId();
  /** Identifies the lock table, for URLs that name the same endpoints. */
  table;
  bucket;
  place;
  /** The way to the thread of the session; of the last one while this is detached. */
  #link = /** @type {SessionLink} */ (/** @type {unknown} */ (undefined));
  /** For that thread. */
  #start;
  #isAttached = false;
  #maxAnswerMs;
  /**
   * The parts of this agent that the other agents of this thread may know.
   * @type {Parameters<typeof agents.add>[0] | undefined}
   */
  #agent;
  /** Of what waits for the session's thread. */
  #loopKeepAlive = new LoopKeepAlive();
  #requests = new RequestTable(this.#loopKeepAlive, (grant) => this.#refuse(grant));
  #questions;
  /** @type {{ reason: string, from: number } | undefined} while there is no session */
  #silence;
  #lastWatchId = 0;
  /** @type {Map<number, EtcdWatch>} */
  #watches = new Map();
  #isClosed = false;
  /** The last request that blocked the thread. Its cancel() waits until its entry is gone. */
  #waitedFor = NO_ID;

  /** @param {import('./cluster-options.js').ClusterOptions} place */
  constructor(place) {
    loadServices(); // a missing library is reported here, not in the other thread
    performance.now(); // loads the clock: a message may come when a test runner loads nothing more
    const own = { pid: process.pid, host: hostname(), pidNamespace: pidNamespace() };
    this.#start = { place, about: { clientId: this.clientId, threadId, ...own } };
    this.bucket = place.bucket;
    const scheme = place.isEncrypted ? 'etcds' : 'etcd';
    this.place = `${scheme}://${place.endpoints}/${place.prefix}/${place.bucket}`;
    this.table = JSON.stringify([[...place.endpoints].sort(), place.prefix, place.bucket]);
    this.#maxAnswerMs = Math.max(place.ttlMs, MIN_ANSWER_MS);
    this.#questions = new Questions((message) => this.#link.post(message), {
      findReason: () => this.#silence?.reason,
      hasSession: () => this.#link.hasSession,
      maxAnswerMs: this.#maxAnswerMs,
    });
    this.#attach();
    addThreadUser(this);
  }

  /** Starts the thread of a session, unless there is one. */
  #attach() {
    this.#checkOpen();
    if (this.#isAttached) return;
    this.#isAttached = true;
    const link = new SessionLink(this.#start, (message) => {
      if (this.#isAttached && this.#link === link) this.#onMessage(message);
    });
    this.#link = link;
    this.#agent = { shared: link.shared, requests: this.#requests };
    agents.add(this.#agent);
    leaveAfterExit(this);
    noteAttached(this);
  }

  /** The next use starts another thread. @returns {boolean} false: there is something to keep */
  detachIfIdle() {
    if (this.#isClosed || !this.#isAttached) return true;
    if (this.#watches.size > 0 || !this.#requests.isEmpty || !this.#questions.isEmpty) return false;
    this.#link.post({ type: 'close' });
    this.#detach();
    return true;
  }

  /**
   * @param {Request} request
   */
  enqueue(request) {
    needRoom();
    this.#checkOpen();
    checkTexts(request, MAX_NAME_UNITS);
    this.#attach();
    const number = this.#requests.add(request);
    this.#link.post({ type: 'ask', ask: toAsk(number, request) });
    return QUEUED;
  }

  /**
   * @param {Request} request
   * @returns {Promise<LockLossReason | undefined> | LockLossReason | undefined}
   */
  release(request) {
    needRoom();
    const entry = this.#requests.forget(request);
    if (entry === undefined) return undefined;
    const loss = this.#requests.takeLoss(entry);
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
    needRoom();
    const entry = this.#requests.forget(request);
    if (entry === undefined) return undefined;
    const lossBefore = this.#requests.takeLoss(entry);
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
    needRoom();
    const entry = this.#requests.forget(request);
    if (entry === undefined) return;
    let isOver = false;
    this.#end(entry, () => (isOver = true), isTimeout ? 'timedout' : undefined);
    if (entry.number === this.#waitedFor) this.#block(Infinity, () => isOver);
  }

  /** @param {Request} request */
  isUndecided(request) {
    return this.#requests.find(request)?.isAnswered === false;
  }

  /** @param {Request} request */
  silenceOf(request) {
    if (this.#silence !== undefined) return `etcd is not reached: ${this.#silence.reason}`;
    return this.isUndecided(request) ? 'etcd has not answered' : undefined;
  }

  /**
   * @param {Request} request
   * @param {number} timeout
   * @returns {import('../../../types/backend.d.ts').SyncOutcome}
   * @throws InvalidStateError where the cluster is not reached for as long as isLocked() waits
   */
  waitSync(request, timeout) {
    needRoom();
    const number = request.backendId;
    this.#waitedFor = number;
    const own = findOwnRequests(request.name, request);
    if (own.length > 0) this.#link.post({ type: 'findSelfDeadlock', number, own });
    const wait = this.#requests.beginWait(number);
    const isOver = () => wait.outcome !== undefined || wait.failure !== undefined;
    this.#block(timeout, () => isOver() || this.#isSilentTooLong);
    this.#requests.endWait();
    if (wait.failure !== undefined) throw wait.failure;
    if (!isOver() && this.#isSilentTooLong) {
      const reason = this.silenceOf(request);
      this.cancel(request);
      throw invalidStateError(`The lock '${request.name}' was not granted: ${reason}`);
    }
    return wait.outcome ?? 'timeout';
  }

  /** @param {string} name */
  modesOf(name) {
    return this.#requests.modesOf(name);
  }

  async snapshot() {
    return toOwnSnapshot(await this.#ask({ type: 'inspect' }));
  }

  async inspect() {
    return toOwnInspection(await this.#ask({ type: 'inspect' }));
  }

  /** The state of the session, for metrics. */
  status() {
    return this.#ask({ type: 'status' });
  }

  /**
   * Blocks for a round trip to the cluster.
   * @param {string} name
   * @param {number} [min]
   * @returns {boolean}
   * @throws InvalidStateError where no answer comes for as long as a lease lives, or ten seconds
   */
  isLocked(name, min = 1) {
    this.#attach();
    if (name.length > MAX_NAME_UNITS) return false;
    return this.#questions.askSync({ type: 'isLocked', name, min }, (isAnswered) =>
      this.#block(this.#maxAnswerMs, isAnswered),
    );
  }

  /** @param {string} name @param {number} max @param {boolean} [isBlocking] */
  holdersOf(name, max, isBlocking = false) {
    if (this.#isClosed) return [];
    this.#attach();
    const question = { type: 'holdersOf', name, max };
    if (!isBlocking) return apply(then, this.#ask(question), [undefined, () => []]);
    return this.#questions.askSync(question, (isAnswered) => this.#block(Infinity, isAnswered));
  }

  get #isSilentTooLong() {
    const silence = this.#silence;
    return silence !== undefined && performance.now() - silence.from > this.#maxAnswerMs;
  }

  /** @param {{ reason: string, isLong: boolean }} message */
  #onSilent({ reason, isLong }) {
    this.#silence = { reason, from: this.#silence?.from ?? performance.now() };
    if (!isLong) return;
    process.emitWarning(`${this.place} is not reached: ${reason}`, {
      type: 'HoldfastWarning',
      code: 'HOLDFAST_UNREACHABLE',
    });
  }

  /** @param {string | undefined} name */
  watch(name) {
    this.#attach();
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
    if (!this.#isAttached) return;
    this.#link.ref(); // until the cluster knows
    setTimeout(() => this.#link.unref(), EXIT_WAIT_MS).unref();
    this.#link.post({ type: 'close' });
    this.#requests.dropAll(closedError, WAS_CLOSED);
    this.#forgetAgent();
    for (const watch of [...this.#watches.values()]) watch.close();
    this.#questions.rejectAll(() => invalidStateError(CLOSED));
    this.#loopKeepAlive.end();
  }

  /** The thread is about to end: waits briefly until everything is released. */
  leave() {
    if (!this.#isClosed) this.#link.post({ type: 'close' });
    this.#isClosed = true;
    this.#block(EXIT_WAIT_MS, () => this.#link.isOver);
  }

  /**
   * A grant counts when its lease does as it is delivered: the process may have been suspended.
   * @param {{ number: number, lease: string }} grant
   */
  #refuse({ number, lease }) {
    const isRefused = this.#link.isLeaseOver(lease);
    if (isRefused && !this.#isClosed) this.#link.post({ type: 'end', number });
    return isRefused;
  }

  /**
   * The next use starts another thread.
   * @param {Error} error
   * @param {(message: any) => void} deliver
   */
  #onThreadLost({ message }, deliver) {
    const error = invalidStateError(`The session with etcd has failed: ${message}`);
    this.#detach();
    this.#requests.loseAll(error, deliver);
    for (const watch of [...this.#watches.values()]) watch.fail(error);
    this.#questions.rejectAll(() => error);
  }

  #detach() {
    this.#isAttached = false;
    this.#silence = undefined;
    this.#forgetAgent();
    doNotLeaveAfterExit(this);
  }

  #forgetAgent() {
    if (this.#agent !== undefined) agents.delete(this.#agent);
    this.#agent = undefined;
  }

  /**
   * @param {object} question
   * @returns {Promise<any>}
   */
  #ask(question) {
    this.#attach();
    this.#loopKeepAlive.ref();
    const answer = this.#questions.ask(question);
    const unref = () => {
      if (!this.#isClosed) this.#loopKeepAlive.unref();
    };
    void apply(then, answer, [unref, unref]); // no then() of the program, which may throw
    return answer;
  }

  /**
   * @param {number} timeout  in milliseconds
   * @param {() => boolean} isEnough
   */
  #block(timeout, isEnough) {
    const deliver = (/** @type {any} */ about) => this.#requests.onMessageInside(about);
    this.#link.block(timeout, isEnough, (message) => this.#onMessage(message, deliver));
  }

  /**
   * @param {any} message
   * @param {(message: any) => void} [deliver]  what is about a request
   */
  #onMessage(message, deliver = (about) => this.#requests.onMessage(about)) {
    if (message.type === 'closed') {
      doNotLeaveAfterExit(this);
    } else if (message.type === 'over') {
      this.#onThreadLost(message.error, deliver);
    } else if (message.type === 'silent') {
      if (!this.#isClosed) this.#onSilent(message);
    } else if (message.type === 'reached') {
      this.#silence = undefined;
    } else if (message.type === 'reply') {
      this.#questions.onReply(message);
    } else if (message.type === 'lostAll') {
      this.#requests.afterPostponed(() => this.#link.post({ type: 'heard' }));
    } else if (message.type === 'events') {
      this.#watches.get(message.id)?.take(message.events);
    } else {
      deliver(message);
    }
  }

  /**
   * @param {Entry} entry
   * @param {(loss: LockLossReason | undefined) => void} onEnded
   * @param {'timedout' | undefined} why
   */
  #end(entry, onEnded, why) {
    if (this.#isClosed) {
      this.#requests.remove(entry);
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
