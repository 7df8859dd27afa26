'use strict';

const { threadId } = require('node:worker_threads');
const {
  closedError,
  invalidStateError,
  managerClosedError,
  WAS_CLOSED,
} = require('../../errors.js');
const { apply, clearTimeout, performance, setTimeout, then } = require('../../time.js');
const { LoopKeepAlive } = require('../../loop-keep-alive.js');
const { createClientId } = require('../client-id.js');
const { hostname } = require('../host.js');
const { noteAttached } = require('../idle-agents.js');
const { pidNamespace } = require('../pid-namespace.js');
const { QUEUED } = require('../outcome.js');
const { outside } = require('../outside.js');
const { QueuedWatch } = require('../queued-watch.js');
const { createRoomChecks } = require('../../stack-room.js');
const { addThreadUser } = require('../thread-users.js');
const { checkTexts } = require('../text-limits.js');
const { RequestTable, toDOMException, toRequestMessage } = require('./request-table.js');
const { agents, findOwnRequests } = require('./shared-state.js');
const { SessionLink } = require('./session-link.js');
const { toAnswerMs } = require('./ttl.js');

/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */
/** @typedef {import('../../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('../../../types/backend.d.ts').LockInspection} LockInspection */
/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LockLossReason */
/** @typedef {import('../../../types/locks.d.ts').LockManagerSnapshot} LockManagerSnapshot */

// A message's arrays and objects are of the outermost realm. A program in a separate context is in
// another realm, in which they would be unlike the program's own.

/** @param {LockInspection} message @returns {LockInspection} */
function toOwnInspection({ held, pending }) {
  const copy = (/** @type {any} */ detail) => ({ ...detail });
  return { held: Array.from(held, copy), pending: Array.from(pending, copy) };
}

/** @param {LockInspection} message @returns {LockManagerSnapshot} */
function toOwnSnapshot({ held, pending }) {
  const toInfo = (/** @type {any} */ { clientId, mode, name }) => ({ clientId, mode, name });
  return { held: Array.from(held, toInfo), pending: Array.from(pending, toInfo) };
}

/**
 * @typedef {object} PendingRpc
 * @property {(value: any) => void} resolve
 * @property {(error: unknown) => void} reject
 * @property {NodeJS.Timeout} [timer]
 */

/** A session may be invalid for a moment, on a busy machine or between two: so often in a row. */
const CHECKS = 10;

/** Calls of the session's thread, each with a number, and the promises that its answers settle. */
class SessionRpc {
  /** @type {Map<number, PendingRpc>} */
  #open = new Map();
  #lastId = 0;
  #post;
  #findReason;
  #hasSession;
  #maxAnswerMs;
  #onChange;
  #server;

  /**
   * @param {(message: object) => void} post
   * @param {() => void} onChange  of isEmpty
   * @param {object} cluster
   * @param {string} cluster.server  its name
   * @param {() => string | undefined} cluster.findReason  for its silence
   * @param {() => boolean} cluster.hasSession  that is valid: it has answered within the TTL
   * @param {number} cluster.maxAnswerMs  the longest wait for an answer without a session
   */
  constructor(post, onChange, { server, findReason, hasSession, maxAnswerMs }) {
    this.#post = post;
    this.#onChange = onChange;
    this.#server = server;
    this.#findReason = findReason;
    this.#hasSession = hasSession;
    this.#maxAnswerMs = maxAnswerMs;
  }

  get isEmpty() {
    return this.#open.size === 0;
  }

  /**
   * @param {object} message
   * @returns {Promise<any>}
   * @throws InvalidStateError if no answer has come and the session is over (rejects)
   */
  call(message) {
    return new Promise((resolve, reject) => {
      const id = this.#send(message, resolve, reject);
      this.#limit(id);
    });
  }

  /**
   * The answer of a session that is valid may take longer.
   * @param {number} id
   * @param {number} [misses]  the last checks, which have found none
   */
  #limit(id, misses = 0) {
    const pending = this.#open.get(id);
    if (pending === undefined) return;
    pending.timer = setTimeout(() => {
      const count = this.#hasSession() ? 0 : misses + 1;
      if (count < CHECKS) return this.#limit(id, count);
      this.#take(id);
      pending.reject(this.#unanswered());
    }, this.#maxAnswerMs / CHECKS).unref();
  }

  /**
   * @param {object} message
   * @param {(isAnswered: () => boolean) => void} block  until it is answered, or has to do without
   * @returns {any}
   * @throws what it is rejected with; an InvalidStateError where it is not answered
   */
  callSync(message, block) {
    /** @type {{ value?: unknown, error?: unknown } | undefined} */
    let answer;
    const id = this.#send(
      message,
      (value) => (answer = { value }),
      (error) => (answer = { error }),
    );
    block(() => answer !== undefined);
    if (answer === undefined) this.#take(id);
    const { value, error } = answer ?? { error: this.#unanswered() };
    if (error !== undefined) throw error;
    return value;
  }

  #unanswered() {
    const reason = this.#findReason();
    const text =
      `${this.#server} has not answered in time: ` +
      'is it reached, and has this process time to run?';
    return invalidStateError(reason === undefined ? text : `${text} ${reason}`);
  }

  /** @param {{ id: number, value: unknown, error: any }} reply */
  onReply({ id, value, error }) {
    const pending = this.#take(id);
    if (error === undefined) pending?.resolve(value);
    else pending?.reject(toDOMException(error));
  }

  /** @param {() => unknown} makeError */
  rejectAll(makeError) {
    for (const id of [...this.#open.keys()]) this.#take(id)?.reject(makeError());
  }

  /** @param {number} id */
  #take(id) {
    const pending = this.#open.get(id);
    this.#open.delete(id);
    clearTimeout(pending?.timer);
    this.#onChange();
    return pending;
  }

  /**
   * @param {object} message
   * @param {(value: any) => void} resolve
   * @param {(error: unknown) => void} reject
   * @returns {number} its id
   */
  #send(message, resolve, reject) {
    this.#lastId += 1;
    this.#open.set(this.#lastId, { resolve, reject });
    this.#onChange();
    this.#post({ ...message, id: this.#lastId });
    return this.#lastId;
  }
}

const NO_ID = -1;
/**
 * How long a blocked thread waits for the server at its exit, or after the timeout of a request:
 * later the session runs out, or the end of the request takes effect.
 */
const END_WAIT_MS = 1000;
const needRoomTo = createRoomChecks();

/**
 * @typedef {object} Engine
 * @property {import('./session-thread.js').EngineName} name
 * @property {string} server  its name in messages
 * @property {number} maxNameUnits
 * @property {boolean} [movesBehindEquals]  see `LockBackend`
 */

/**
 * @typedef {object} Place  whose locks
 * @property {string} bucket
 * @property {string} place  shown
 * @property {string} table  identifies the lock table
 * @property {number} ttlMs  a session without an answer of the server ends after it
 * @property {object} options  of the engine
 * @property {(() => unknown) | undefined} [answer]  to a question of the session: a password
 */

/**
 * The backend over a server that other machines share: it passes requests to the session's thread,
 * and the thread's answers to the requests. Its session is closed when this is collected.
 * @implements {LockBackend}
 */
class RemoteBackend {
  clientId = createClientId();
  /** Identifies the lock table, for URLs that name the same endpoints. */
  table;
  bucket;
  place;
  /** The way to the thread of the session; of the last one while this is detached. */
  #link = /** @type {SessionLink} */ (/** @type {unknown} */ (undefined));
  /** For that thread. */
  #start;
  #engine;
  #isAttached = false;
  #maxAnswerMs;
  /**
   * The parts of this agent that the other agents of this thread may know, while it is busy.
   * @type {Parameters<typeof agents.add>[0]}
   */
  #agent;
  /** Of what waits for the session's thread. */
  #loopKeepAlive = new LoopKeepAlive();
  #requests;
  #rpc;
  /** @type {{ reason: string, from: number } | undefined} while there is no session */
  #silence;
  #lastWatchId = 0;
  /** @type {Map<number, QueuedWatch>} */
  #watches = new Map();
  #isClosed = false;
  #answer;
  /** The last request that blocked the thread. Its cancel() waits until its entry is gone. */
  #waitedFor = NO_ID;

  /**
   * @param {Engine} engine
   * @param {Place} place
   */
  constructor(engine, { bucket, place, table, ttlMs, options, answer }) {
    this.#engine = engine;
    this.#answer = answer;
    performance.now(); // loads the clock: a message may come when a test runner loads nothing more
    const own = { pid: process.pid, host: hostname(), pidNamespace: pidNamespace() };
    const agent = { clientId: this.clientId, threadId, ...own };
    this.#start = { engine: engine.name, options, agent };
    this.bucket = bucket;
    this.place = place;
    this.table = table;
    this.#maxAnswerMs = toAnswerMs(ttlMs);
    this.#requests = new RequestTable(
      this.#loopKeepAlive,
      engine.server,
      (grant) => this.#refuse(grant),
      () => this.#noteUse(),
    );
    this.#agent = { shared: /** @type {any} */ (undefined), requests: this.#requests };
    this.#rpc = new SessionRpc(
      (message) => this.#link.post(message),
      () => this.#noteUse(),
      {
        server: engine.server,
        findReason: () => this.#silence?.reason,
        hasSession: () => this.#link.hasSession,
        maxAnswerMs: this.#maxAnswerMs,
      },
    );
    this.#attach();
    addThreadUser(this);
  }

  /** Starts the thread of a session, unless there is one. */
  #attach() {
    this.#checkOpen();
    if (this.#isAttached) return;
    const link = new SessionLink(this.#start, (message) => {
      if (this.#isAttached && this.#link === link) this.#onMessage(message);
    });
    this.#link = link;
    this.#isAttached = true;
    this.#agent.shared = link.shared;
    outside().leaveAfterExit(this); // as the kernel releases locks on this machine
    noteAttached(this);
  }

  get #isIdle() {
    return this.#watches.size === 0 && this.#requests.isEmpty && this.#rpc.isEmpty;
  }

  /** While this is idle, collection may end it: the port and the thread refer to it weakly. */
  #noteUse() {
    const change = this.#isIdle ? 'delete' : 'add';
    outside().busy[change](this);
    agents[change](this.#agent);
  }

  /** The next use starts another thread. @returns {boolean} false: there is something to keep */
  detachIfIdle() {
    if (this.#isClosed || !this.#isAttached) return true;
    if (!this.#isIdle) return false;
    this.#link.post({ type: 'close' });
    this.#detach();
    return true;
  }

  /**
   * @param {Request} request
   */
  enqueue(request) {
    needRoomTo.enqueue();
    this.#checkOpen();
    checkTexts(request, this.#engine.maxNameUnits);
    this.#attach();
    const number = this.#requests.add(request);
    const message = { type: 'enqueue', request: toRequestMessage(number, request) };
    this.#link.post(message, this.#requests.hasLocks); // a release may follow
    return QUEUED;
  }

  /**
   * @param {Request} request
   * @returns {Promise<LockLossReason | undefined> | LockLossReason | undefined}
   */
  release(request) {
    needRoomTo.release();
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
    needRoomTo.releaseSync();
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

  get movesBehindEquals() {
    return this.#engine.movesBehindEquals;
  }

  /** @param {Request} request */
  changePriority(request) {
    const entry = this.#requests.find(request);
    if (entry === undefined || entry.isHeld || request.extras === undefined) return;
    const { priority } = request.extras;
    this.#link.post({ type: 'changePriority', number: entry.number, priority });
  }

  /**
   * The session's thread reads the queue: `contentionChanged()` follows if a request waits.
   * @param {Request} request
   */
  watchContention(request) {
    const entry = this.#requests.find(request);
    if (entry === undefined || entry.waiting !== undefined) return entry?.waiting ?? null;
    this.#link.post({ type: 'watchContention', number: entry.number });
    entry.waiting = null; // not before: at the end of the stack a call throws
    return null;
  }

  /**
   * @param {Request} request
   * @param {boolean} [isTimeout]
   */
  cancel(request, isTimeout = false) {
    needRoomTo.cancel();
    const entry = this.#requests.forget(request);
    if (entry === undefined) return;
    let isOver = false;
    this.#end(entry, () => (isOver = true), isTimeout ? 'timedout' : undefined);
    if (entry.number === this.#waitedFor) this.#block(END_WAIT_MS, () => isOver);
  }

  /** @param {Request} request */
  isUndecided(request) {
    return this.#requests.find(request)?.isAnswered === false;
  }

  /**
   * @param {Request} request
   * @param {boolean} [isSilent]
   */
  silenceOf(request, isSilent = this.isUndecided(request)) {
    const { server } = this.#engine;
    if (this.#silence !== undefined) return `${server} is not reached: ${this.#silence.reason}`;
    return isSilent ? `${server} has not answered` : undefined;
  }

  /**
   * @param {Request} request
   * @param {number} timeout
   * @returns {import('../../../types/backend.d.ts').SyncOutcome}
   * @throws InvalidStateError where the cluster is not reached for as long as isLocked() waits
   */
  waitSync(request, timeout) {
    needRoomTo.waitSync();
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
    return toOwnSnapshot(await this.#call({ type: 'inspect' }));
  }

  async inspect() {
    return toOwnInspection(await this.#call({ type: 'inspect' }));
  }

  /** The state of the session, for metrics. */
  status() {
    return this.#call({ type: 'status' });
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
    if (name.length > this.#engine.maxNameUnits) return false;
    return this.#rpc.callSync({ type: 'isLocked', name, min }, (isAnswered) =>
      this.#block(this.#maxAnswerMs, isAnswered),
    );
  }

  /** @param {string} name @param {number} max @param {boolean} [isBlocking] */
  holdersOf(name, max, isBlocking = false) {
    if (this.#isClosed) return [];
    this.#attach();
    const message = { type: 'holdersOf', name, max };
    if (!isBlocking) return apply(then, this.#call(message), [undefined, () => []]);
    try {
      return this.#rpc.callSync(message, (isAnswered) => this.#block(END_WAIT_MS, isAnswered));
    } catch {
      return []; // the server is silent, which silenceOf() says
    }
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
    const watch = new QueuedWatch(() => {
      this.#watches.delete(id);
      this.#noteUse();
      if (!this.#isClosed) this.#link.post({ type: 'unwatch', id });
    });
    this.#watches.set(id, watch);
    this.#noteUse();
    this.#link.post({ type: 'watch', id, name });
    return watch;
  }

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (!this.#isAttached) return;
    this.#link.ref(); // until the cluster knows
    setTimeout(() => this.#link.unref(), END_WAIT_MS).unref();
    this.#link.post({ type: 'close' });
    this.#requests.dropAll(closedError, WAS_CLOSED);
    for (const watch of [...this.#watches.values()]) watch.close();
    this.#rpc.rejectAll(managerClosedError);
    this.#loopKeepAlive.end();
  }

  /** The thread is about to end: waits briefly until everything is released. */
  leave() {
    if (!this.#isClosed) this.#link.post({ type: 'close' });
    this.#isClosed = true;
    this.#block(END_WAIT_MS, () => this.#link.isOver);
  }

  /**
   * A grant counts when its session does as it is delivered: the process may have been suspended.
   * @param {{ number: number, session: string }} grant
   */
  #refuse({ number, session }) {
    const isRefused = this.#link.isSessionOver(session);
    if (isRefused && !this.#isClosed) this.#link.post({ type: 'end', number });
    return isRefused;
  }

  /**
   * The next use starts another thread.
   * @param {Error} error
   * @param {(message: any) => void} deliver
   */
  #onThreadLost({ message }, deliver) {
    const error = invalidStateError(
      `The session with ${this.#engine.server} has failed: ${message}`,
    );
    this.#detach();
    this.#requests.loseAll(error, deliver);
    for (const watch of [...this.#watches.values()]) watch.fail(error);
    this.#rpc.rejectAll(() => error);
  }

  #detach() {
    this.#isAttached = false;
    this.#silence = undefined;
    outside().doNotLeaveAfterExit(this);
  }

  /**
   * @param {object} message
   * @returns {Promise<any>}
   */
  #call(message) {
    this.#attach();
    this.#loopKeepAlive.ref();
    const answer = this.#rpc.call(message);
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
    const deliver = (/** @type {any} */ message) => this.#requests.onMessageInside(message);
    this.#link.block(timeout, isEnough, (message) => this.#onMessage(message, deliver));
  }

  /**
   * @param {any} message
   * @param {(message: any) => void} [deliver]  what is about a request
   */
  #onMessage(message, deliver = (it) => this.#requests.onMessage(it)) {
    if (message.type === 'closed') {
      outside().doNotLeaveAfterExit(this);
    } else if (message.type === 'over') {
      this.#onThreadLost(message.error, deliver);
    } else if (message.type === 'silent') {
      if (!this.#isClosed) this.#onSilent(message);
    } else if (message.type === 'reached') {
      this.#silence = undefined;
    } else if (message.type === 'reply') {
      this.#rpc.onReply(message);
    } else if (message.type === 'lostAll') {
      this.#requests.afterPostponed(() => this.#link.post({ type: 'lossesReported' }));
    } else if (message.type === 'question') {
      this.#onQuestion(message.id);
    } else if (message.type === 'events') {
      this.#watches.get(message.id)?.take(message.events);
    } else {
      deliver(message);
    }
  }

  /** At once, if it is no promise: the thread may be blocked. @param {number} id */
  #onQuestion(id) {
    const link = this.#link;
    const post = (/** @type {unknown} */ value) => link.post({ type: 'answer', id, value });
    const fail = (/** @type {unknown} */ error) =>
      link.post({ type: 'answer', id, error: String(error) });
    try {
      const value = this.#answer?.();
      if (typeof value === 'string') post(value);
      else void Promise.resolve(value).then(post).catch(fail);
    } catch (error) {
      fail(error);
    }
  }

  /**
   * @param {import('./request-table.js').Entry} entry
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
    if (this.#isClosed) throw managerClosedError();
  }
}

module.exports = { RemoteBackend, SessionRpc };
