'use strict';

const { getEnvironmentData, setEnvironmentData, threadId } = require('node:worker_threads');
const {
  closedError,
  invalidStateError,
  managerClosedError,
  WAS_CLOSED,
} = require('../../errors.js');
const { apply, clearInterval, performance, setInterval, then } = require('../../time.js');
const { machineNow } = require('./machine-clock.js');
const {
  REQUEST_MESSAGES,
  fieldsOf,
  flagsOf,
  handshakeMessages,
  reportOf,
  toDetail,
  toEvent,
  toInspection,
} = require('./wire.js');
const { createClientId } = require('../client-id.js');
const { pidNamespace } = require('../pid-namespace.js');
const { securityError, toBrokerFiles } = require('./broker-files.js');
const { Lifeline } = require('./lifeline.js');
const { LoopKeepAlive } = require('../../loop-keep-alive.js');
const { noteAttached } = require('../idle-agents.js');
const { QUEUED } = require('../outcome.js');
const { outside } = require('../outside.js');
const { createRoomChecks } = require('../../stack-room.js');
const { addThreadUser } = require('../thread-users.js');
const { checkTexts } = require('../text-limits.js');
const { RequestTable } = require('../remote/request-table.js');
const { Link } = require('./link.js');
const { SyncCalls, unconfirmedRelease } = require('./sync-helper.js');

/**
 * @typedef {object} Call
 * @property {string} what
 * @property {unknown[]} argument
 * @property {number} t  when it was made, by the clock of this process
 * @property {boolean} isAwaited
 * @property {number} checks  of a silent broker, since it was made
 * @property {Record<string, unknown[]>} parts  of the lists of its answer, by key, so far
 * @property {(value: any) => void} resolve
 * @property {(error: Error) => void} reject
 */

/** How long a blocked thread waits for the answer to a call that a living broker answers. */
const MAX_ANSWER_MS = 10_000;
const SILENT = 'the broker has not answered: is it stopped?';
/** @param {number} ms */
const silenceError = (ms) => invalidStateError(`For ${ms} ms ${SILENT}`);

/**
 * How long a promise waits for any message of the broker. It takes no longer to find out that no
 * broker comes up.
 */
const MAX_SILENT_MS = 30_000;
/**
 * How often it is checked whether the broker is silent. A thread that is stopped or busy makes no
 * checks, so that time does not count.
 */
const CHECK_MS = 1000;
const MAX_CHECKS = MAX_SILENT_MS / CHECK_MS;

/** Calls that the broker has still to answer; each further broker receives them again. */
class BrokerCalls {
  /** @type {Map<number, Call>} */
  #calls = new Map();
  #lastCall = 0;
  /** @type {NodeJS.Timeout | undefined} while the program awaits an answer */
  #timer = undefined;
  /** The broker has sent something since the last check. */
  #hasAnswered = false;
  #link;
  #keepAlive;
  #onChange;

  /**
   * @param {Link} link
   * @param {LoopKeepAlive} keepAlive
   * @param {() => void} onChange  of isIdle
   */
  constructor(link, keepAlive, onChange = ignore) {
    this.#link = link;
    this.#keepAlive = keepAlive;
    this.#onChange = onChange;
  }

  get isIdle() {
    return this.#calls.size === 0;
  }

  /**
   * @param {string} what
   * @param {unknown[]} argument
   * @param {boolean} [isAwaited]  by the program: it keeps the event loop alive, and rejects with
   *   an InvalidStateError if the broker is silent
   * @param {number} [t]  when it was made, if not now
   * @returns {Promise<any>}
   */
  call(what, argument, isAwaited = true, t = machineNow()) {
    return new Promise((resolve, reject) => {
      this.#lastCall += 1;
      const call = { what, argument, t, isAwaited, checks: 0, parts: {}, resolve, reject };
      this.#calls.set(this.#lastCall, call);
      this.#onChange();
      if (isAwaited) {
        this.#keepAlive.ref();
        this.#timer ??= setInterval(() => this.#check(), CHECK_MS).unref();
      }
      this.#link.send(toMessage(this.#lastCall, call, (at) => this.#link.toBrokerTime(at)));
    });
  }

  /** A message has come from the broker, whatever it is about. */
  noteAnswer() {
    this.#hasAnswered = true;
  }

  /** Without a connection, the search for a broker has a bound. */
  #check() {
    const isSilent = this.#link.isConnected && !this.#hasAnswered;
    this.#hasAnswered = false;
    const calls = [...this.#calls].filter(([, { isAwaited }]) => isAwaited);
    for (const [id, call] of calls) {
      call.checks = isSilent ? call.checks + 1 : 0;
      if (call.checks > MAX_CHECKS) this.#take(id)?.reject(silenceError(MAX_SILENT_MS));
    }
    if (calls.length === 0) this.#stopChecks();
  }

  #stopChecks() {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /**
   * @param {number} id
   * @param {unknown} value
   */
  receive(id, value) {
    const call = this.#take(id);
    call?.resolve(joined(call.parts, value));
  }

  /**
   * @param {number} id
   * @param {string} key  of a list in the answer; '': the answer is the list
   * @param {unknown[]} items
   */
  receivePart(id, key, items) {
    const parts = this.#calls.get(id)?.parts;
    if (parts !== undefined) for (const item of items) (parts[key] ??= []).push(item);
  }

  /**
   * @param {number} id
   * @param {Error} error
   */
  receiveError(id, error) {
    this.#take(id)?.reject(error);
  }

  /**
   * All calls for another broker, in the order in which they were made.
   * @param {(t: number) => number} toBrokerTime
   */
  messages(toBrokerTime) {
    const calls = [...this.#calls].sort(([, a], [, b]) => a.t - b.t);
    return calls.map(([id, call]) => {
      call.parts = {}; // an earlier broker may have sent some
      call.checks = 0;
      return toMessage(id, call, toBrokerTime);
    });
  }

  /** @param {Error} error */
  failAll(error) {
    for (const id of [...this.#calls.keys()]) this.#take(id)?.reject(error);
  }

  /** @param {number} id */
  #take(id) {
    const call = this.#calls.get(id);
    if (call === undefined) return undefined;
    this.#calls.delete(id);
    if (this.isIdle) this.#stopChecks();
    if (call.isAwaited) this.#keepAlive.unref();
    this.#onChange();
    return call;
  }
}

/**
 * @param {number} id
 * @param {Pick<Call, 'what' | 'argument' | 't'>} call
 * @param {(t: number) => number} toBrokerTime
 */
const toMessage = (id, { what, argument, t }, toBrokerTime) => [
  '?',
  id,
  what,
  toBrokerTime(t),
  argument,
];

/**
 * @param {Record<string, unknown[]>} parts
 * @param {any} value
 */
function joined(parts, value) {
  for (const [key, items] of Object.entries(parts)) {
    if (key === '') return items.concat(value);
    value[key] = items.concat(value[key]);
  }
  return value;
}

/** @typedef {import('../../../types/backend.d.ts').LockBackendWatch} LockBackendWatch */
/** @typedef {import('../../../types/backend.d.ts').LockEvent} LockEvent */

let lastId = 0;

/**
 * A watch that the broker keeps; what has not been read is there. Another broker begins a new one,
 * and what happened between the two is counted as one missed event.
 * @implements {LockBackendWatch}
 */
class BrokerWatch {
  #calls;
  #name;
  #end;
  #id;
  /** When it was opened: each broker orders it among the requests by that time. */
  #t = machineNow();
  /** A broker knows of it. */
  isOpen = false;
  #isClosed = false;
  /** @type {Error | undefined} */
  #error = undefined;
  #hasMissed = false;
  /** @type {(() => void) | undefined} ends a read that waits */
  #stop = undefined;

  /**
   * @param {BrokerCalls} calls
   * @param {string | undefined} name
   * @param {() => void} end
   */
  constructor(calls, name, end) {
    this.#calls = calls;
    this.#name = name;
    this.#end = end;
    lastId += 1;
    this.#id = lastId;
    this.#open();
  }

  get #argument() {
    return [this.#id, this.#name ?? null];
  }

  /** As it crosses, for a helper thread. */
  get state() {
    return [this.#t, this.#argument];
  }

  #open() {
    this.#calls.call('watch', this.#argument, false, this.#t).then(
      () => (this.isOpen = true),
      (error) => this.fail(error),
    );
  }

  /** Another broker has come. */
  reopen() {
    if (!this.isOpen) return; // the first call is sent again
    this.isOpen = false;
    this.#hasMissed = true;
    this.#open();
  }

  /** @param {number} max */
  async read(max) {
    if (this.#error !== undefined) throw this.#error;
    if (this.#isClosed) return [];
    const stopped = new Promise((resolve) => {
      this.#stop = () => resolve([]);
    });
    const events = await Promise.race([
      this.#calls.call('readWatch', [this.#id, max], false),
      stopped,
    ]);
    if (this.#error !== undefined) throw this.#error;
    return this.#isClosed ? [] : this.#toEvents(events);
  }

  /** @param {any[]} events */
  #toEvents(events) {
    const missed = this.#hasMissed ? 1 : 0;
    this.#hasMissed = false;
    const [first, ...others] = events.map(toEvent);
    return first === undefined ? [] : [{ ...first, lost: first.lost + missed }, ...others];
  }

  /**
   * There will be no more.
   * @param {Error} error
   */
  fail(error) {
    if (this.#isClosed) return;
    this.#error = error;
    this.#end();
    this.#stop?.();
  }

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#end();
    this.#stop?.();
    // The broker forgets it together with its client.
    this.#calls.call('closeWatch', [this.#id], false).catch(ignore);
  }
}

function ignore() {}

/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */

/**
 * @param {any[]} holders  as they cross: without their name
 * @param {string} name
 * @returns {LockDetail[]}
 */
const toHolders = (holders, name) => Array.from(holders, (holder) => toDetail({ ...holder, name }));

/**
 * @param {BrokerCalls} calls
 * @param {string} name
 * @param {number} max
 * @returns {Promise<LockDetail[]>} none, where there is no broker any more
 */
const readHolders = (calls, name, max) =>
  apply(then, calls.call('holdersOf', [name, max], false), [
    (/** @type {any[]} */ holders) => toHolders(holders, name),
    () => [],
  ]);

/**
 * @param {() => { value: any }} read  blocks the thread
 * @param {string} name
 * @returns {LockDetail[]} none without an answer, or if a blocked thread cannot take the answer
 */
function readHoldersSync(read, name) {
  try {
    return toHolders(read().value ?? [], name);
  } catch {
    return [];
  }
}

/** One for all copies of this module that a thread may have loaded. */
const THREAD_KEY = Symbol.for('holdfast.thread');

/** The name of this thread, which no other thread has, in whatever process and namespace. */
function threadName() {
  const holder = /** @type {any} */ (globalThis);
  if (holder[THREAD_KEY] === undefined)
    Object.defineProperty(holder, THREAD_KEY, { value: createClientId() });
  return /** @type {string} */ (holder[THREAD_KEY]);
}

/** @typedef {import('./broker-files.js').BrokerFiles} BrokerFiles */

/**
 * @typedef {object} OpenDirectory
 * @property {string} bucket
 * @property {string} folder
 * @property {number | undefined} user  that opened it
 * @property {Int32Array} isOpen  one word, shared with the threads that have inherited it
 */

/** A thread inherits the value kept here, as it is when the thread is started. */
const DIRECTORIES_KEY = 'holdfast.broker.open-places';

/** @returns {Map<string, OpenDirectory>} by client */
const openDirectories = () => /** @type {any} */ (getEnvironmentData(DIRECTORIES_KEY)) ?? new Map();

/**
 * Makes the folders of a bucket for a client, and notes that it is open. After a change of the user
 * the default directory is another one: two brokers would grant one lock.
 * @param {BrokerFiles} files
 * @param {string} clientId
 * @returns {Int32Array | undefined} its `isOpen`, as it is kept
 * @throws DOMException (SecurityError)
 */
function noteOpen(files, clientId) {
  const { bucket, folder } = files;
  const user = process.geteuid?.();
  const directories = openDirectories();
  for (const known of directories.values()) {
    if (known.bucket !== bucket || known.user === user || known.folder === folder) continue;
    if (Atomics.load(known.isOpen, 0) === 0) continue;
    throw securityError(
      'this process has changed its user since it opened this bucket in the directory of the ' +
        `former one, ${known.folder}: open it after the change, or close it before`,
    );
  }
  files.ensure();
  const open = [...directories].filter(([, { isOpen }]) => Atomics.load(isOpen, 0) === 1);
  const isOpen = new Int32Array(new SharedArrayBuffer(4)).fill(1);
  setOpenDirectories([...open, [clientId, { bucket, folder, user, isOpen }]]);
  return openDirectories().get(clientId)?.isOpen;
}

/** @param {[string, OpenDirectory][]} open  by client */
function setOpenDirectories(open) {
  const known = open.length === 0 ? undefined : outside().clone(new Map(open));
  setEnvironmentData(DIRECTORIES_KEY, /** @type {any} */ (known));
}

/** @param {string} clientId */
function noteClosed(clientId) {
  const directories = openDirectories();
  const left = directories.get(clientId);
  if (left === undefined) return;
  Atomics.store(left.isOpen, 0, 0);
  setOpenDirectories([...directories].filter(([id]) => id !== clientId));
}

/** @typedef {import('../../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('../remote/request-table.js').Entry} Entry */
/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */
/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LockLossReason */
/** @typedef {import('../../../types/backend.d.ts').LockOutcome} LockOutcome */

/** Escaped, a name or label takes up to six times as many units: fewer than the longest line. */
const MAX_NAME_UNITS = 2 ** 21;
/** A thread whose time is over waits no longer for a broker that is stopped. */
const BRIEF_MS = 500;
/** A lock that is free when a timeout is over may be granted so much later; it is read so often. */
const MAX_UNDECIDED_MS = 1000;
const RECHECK_MS = 5;

const needRoomTo = createRoomChecks();

/**
 * The backend over a broker: one agent of a bucket, until it is collected. It decides nothing. Its
 * requests are kept here until they have ended, and are sent again to a broker that replaces a dead
 * one.
 * @implements {LockBackend}
 */
class BrokerBackend {
  clientId = createClientId();
  /** Identifies the lock table: the same for all backends of a bucket, by whatever path. */
  table;
  bucket;
  folder;
  place;
  #files;
  /** @type {{ id: string, lifeline: Lifeline } | undefined} as the brokers know this agent */
  #session = undefined;
  #link;
  #calls;
  /** Of all that waits for a word of the broker. */
  #keepAlive = new LoopKeepAlive();
  #requests = new RequestTable(
    this.#keepAlive,
    undefined,
    () => false,
    () => this.#noteUse(),
  );
  /** @type {Set<BrokerWatch>} */
  #watches = new Set();
  #syncCalls;
  /** The last blocking holdersOf() had no answer. */
  #isSilent = false;
  /** In this session: a broker that has died may not have read it. */
  #hasCancelled = false;
  #isClosed = false;

  /**
   * @param {{ bucket?: string, directory?: string }} [options]
   * @throws DOMException when the directory cannot be used, with what to do about it
   */
  constructor(options = {}) {
    this.#files = toBrokerFiles(options);
    outside().onCollected(this, noteOpen(this.#files, this.clientId), 'fill', 0);
    ({ bucket: this.bucket, folder: this.folder, url: this.place } = this.#files);
    this.table = this.#files.realFolder;
    this.#link = new Link(this.#files, {
      handshake: (toBrokerTime) => this.#handshake(toBrokerTime),
      onMessage: (message) => this.#receive(message),
      onClose: () => this.#onClose(),
      onFailure: (error) => this.#failAll(error),
    });
    this.#calls = new BrokerCalls(this.#link, this.#keepAlive, () => this.#noteUse());
    this.#syncCalls = new SyncCalls(this.#files, {
      connect: () => this.#connect(),
      isFlushed: () => this.#link.isFlushed,
      state: () => this.#helperState(),
    });
    addThreadUser(this);
  }

  /**
   * @param {Request} request
   * @returns {LockOutcome}
   */
  enqueue(request) {
    needRoomTo.enqueue();
    this.#checkOpen();
    checkTexts(request, MAX_NAME_UNITS);
    this.#connect();
    const number = this.#requests.add(request, machineNow());
    const entry = /** @type {Entry} */ (this.#requests.get(number));
    this.#link.send(['q', ...fieldsOf(entry, this.#link.toBrokerTime(entry.at))]);
    return QUEUED;
  }

  /**
   * In effect, and known not to be lost before, when the promise is fulfilled.
   * @param {Request} request
   * @returns {Promise<LockLossReason | undefined> | undefined}
   */
  release(request) {
    needRoomTo.release();
    const entry = this.#startRelease(request);
    if (entry === undefined) return undefined;
    this.#link.send(['r', entry.number, this.#link.now()]);
    return new Promise((resolve) => {
      entry.onEnded = resolve;
    });
  }

  /**
   * @param {Request} request
   * @returns {Entry | undefined} undefined: it has ended
   */
  #startRelease(request) {
    const entry = this.#requests.forget(request);
    if (entry === undefined) return undefined;
    if (entry.isHeld) this.#keepAlive.ref(); // until it is in effect
    entry.onEnded = ignore;
    entry.at = machineNow();
    this.#connect();
    return entry;
  }

  /**
   * The same, for a thread that waits until the release is done.
   * @param {Request} request
   * @returns {LockLossReason | undefined}
   * @throws DOMException if no broker answers: this thread's own connection releases the lock
   */
  releaseSync(request) {
    needRoomTo.releaseSync();
    const entry = this.#startRelease(request);
    if (entry === undefined) return undefined;
    const loss = this.#requestRelease(entry);
    this.#onRequest('d', entry.number, [loss]);
    return loss;
  }

  /**
   * @param {Entry} entry  that is released
   * @returns {LockLossReason | undefined}
   */
  #requestRelease({ number, request }) {
    try {
      return this.#callSync('release', [number]) ?? undefined;
    } catch (error) {
      this.#link.send(['r', number, this.#link.now()]);
      throw unconfirmedRelease(request.name, /** @type {Error} */ (error));
    }
  }

  /** @param {Request} request */
  changePriority(request) {
    const entry = this.#requests.find(request);
    if (entry === undefined || entry.isHeld) return;
    this.#link.send(['y', entry.number, flagsOf(request), this.#link.now()]);
  }

  /**
   * The broker reads the queue: `contentionChanged()` follows if a request waits.
   * @param {Request} request
   */
  watchContention(request) {
    const entry = this.#requests.find(request);
    if (entry === undefined || entry.waiting !== undefined) return entry?.waiting ?? null;
    this.#link.send(['k', entry.number, null]);
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
    this.#requests.remove(entry);
    if (!entry.isHeld) this.#keepAlive.unref();
    this.#hasCancelled = true;
    this.#link.send(['c', entry.number, isTimeout ? 1 : 0, this.#link.now()]);
  }

  /**
   * Whether it is still unknown if the request has to wait.
   * @param {Request & { isSync?: boolean }} request
   */
  isUndecided(request) {
    if (request.isSync) return false; // waitSync() has checked that
    const entry = this.#requests.find(request);
    return entry !== undefined && !entry.isHeld && !entry.isAnswered;
  }

  /**
   * A blocked thread does not read its own connection: it requests the holders.
   * @param {Entry} entry
   */
  #isFree({ number, request }) {
    const holders = /** @type {import('../../../types/backend.d.ts').LockDetail[]} */ (
      this.holdersOf(request.name, undefined, true)
    );
    if (this.#isSilent) return false;
    const isOwn = (/** @type {{ clientId: string, requestId: number }} */ holder) =>
      holder.clientId === this.clientId && holder.requestId === number;
    return holders.length === 0 || holders.some(isOwn);
  }

  /**
   * @param {Request} request
   * @param {number} timeout
   * @returns {import('../../../types/backend.d.ts').SyncOutcome}
   */
  waitSync(request, timeout) {
    needRoomTo.waitSync();
    const entry = this.#requests.find(request);
    if (entry === undefined) throw invalidStateError('The request has ended');
    const { number } = entry;
    const [outcome, high, low] = this.#requestOutcome(entry, timeout);
    if (outcome === 'timeout' || outcome === 'deadlock') {
      // cancel() follows: only here the thread waits until it is in effect.
      this.#syncCalls.send('cancel', [number, outcome === 'timeout'], BRIEF_MS);
      return outcome;
    }
    this.#requests.beginWait(number); // the outcome goes to the caller
    this.#onRequest(outcome === 'granted' ? 'g' : 'm', number, [high, low]);
    this.#requests.endWait();
    const { ifAvailable, extras } = request;
    const mayBeMissed = ifAvailable || (extras?.maxPending ?? Infinity) < Infinity;
    if (outcome !== 'granted' && !mayBeMissed) {
      throw new DOMException('The broker has no room for the request', 'QuotaExceededError');
    }
    return outcome;
  }

  /**
   * @param {Entry} entry
   * @param {number} timeout
   * @returns {any[]} with the token of a grant
   */
  #requestOutcome(entry, timeout) {
    try {
      let outcome = this.#awaitOutcome(entry.number, timeout);
      const until = performance.now() + MAX_UNDECIDED_MS;
      while (outcome[0] === 'timeout' && performance.now() < until && this.#isFree(entry)) {
        outcome = this.#awaitOutcome(entry.number, RECHECK_MS);
      }
      return outcome;
    } catch (error) {
      this.cancel(entry.request); // or it could be granted without a holder
      throw error;
    }
  }

  /**
   * A wait has no bound, so a broker that is silent has to answer something else.
   * @param {number} id
   * @param {number} timeout
   * @returns {any[]}
   */
  #awaitOutcome(id, timeout) {
    const end = performance.now() + timeout;
    for (;;) {
      const left = Math.max(0, end - performance.now());
      const ms = Math.min(left, MAX_ANSWER_MS);
      const { isTimeout, value } = this.#syncCalls.call('wait', [id], ms);
      if (!isTimeout) return value;
      if (left <= MAX_ANSWER_MS) return ['timeout'];
      this.#callSync('isLocked', ['', 1]);
    }
  }

  /**
   * @param {string} what
   * @param {unknown[]} argument
   * @throws InvalidStateError where no answer comes in time
   */
  #callSync(what, argument) {
    const { isTimeout, value } = this.#syncCalls.call(what, argument, MAX_ANSWER_MS);
    if (isTimeout) throw silenceError(MAX_ANSWER_MS);
    return value;
  }

  /**
   * @param {Request & { isSync?: boolean }} request
   * @param {boolean} [isSilent]
   */
  silenceOf(request, isSilent = request.isSync ? this.#isSilent : this.isUndecided(request)) {
    if (!isSilent) return undefined;
    const { cause } = this.#link;
    return cause === undefined ? SILENT : `no broker is reached: ${cause}`;
  }

  /** @param {string} name */
  modesOf(name) {
    return this.#requests.modesOf(name);
  }

  /** @returns {Promise<import('../../../types/locks.d.ts').LockManagerSnapshot>} */
  snapshot() {
    return this.#call('snapshot', []);
  }

  /** @returns {Promise<import('../../../types/backend.d.ts').LockInspection>} */
  async inspect() {
    return toInspection(await this.#call('inspect', []));
  }

  /**
   * @param {readonly number[]} requestIds
   * @param {import('../../../types/backend.d.ts').WaitWalkOptions} options
   * @returns {Promise<import('../../../types/backend.d.ts').WaitWalk>}
   */
  async waitsOf(requestIds, { withQueues }) {
    return toInspection(await this.#call('waitsOf', [requestIds, withQueues], false));
  }

  /**
   * @param {string} what
   * @param {unknown[]} argument
   * @param {boolean} [isAwaited]
   */
  #call(what, argument, isAwaited) {
    this.#checkOpen();
    this.#connect();
    return this.#calls.call(what, argument, isAwaited);
  }

  /**
   * @param {string} name
   * @param {number} [min]
   * @returns {boolean}
   */
  isLocked(name, min = 1) {
    this.#checkOpen();
    if (name.length > MAX_NAME_UNITS) return false;
    return this.#callSync('isLocked', [name, min]);
  }

  /**
   * @param {string} name
   * @param {number} [max]
   * @param {boolean} [isBlocking]
   * @returns {ReturnType<typeof readHoldersSync> | ReturnType<typeof readHolders>}
   */
  holdersOf(name, max = 64, isBlocking = false) {
    if (this.#isClosed) return [];
    if (!isBlocking && this.#session === undefined) return [];
    if (!isBlocking) return readHolders(this.#calls, name, max);
    return readHoldersSync(() => {
      const answer = this.#syncCalls.call('holdersOf', [name, max], BRIEF_MS);
      this.#isSilent = answer.isTimeout;
      return answer;
    }, name);
  }

  /** @param {string | undefined} name */
  watch(name) {
    this.#checkOpen();
    this.#connect();
    const watch = new BrokerWatch(this.#calls, name, () => {
      this.#watches.delete(watch);
      this.#noteUse();
    });
    this.#watches.add(watch);
    this.#noteUse();
    return watch;
  }

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    noteClosed(this.clientId);
    this.#link.send(['bye', this.#link.now()]);
    this.#requests.dropAll(closedError, WAS_CLOSED);
    for (const watch of this.#watches) watch.close();
    this.#calls.failAll(managerClosedError());
    this.#end();
    this.#keepAlive.end();
  }

  #end() {
    this.#link.close();
    this.#syncCalls.close();
    this.#session?.lifeline.close();
    this.#session = undefined;
    this.#hasCancelled = false;
  }

  #connect() {
    if (this.#session === undefined) {
      this.#files.ensure();
      const lifeline = new Lifeline(this.#files, () => this.#link.open());
      this.#session = { id: createClientId(), lifeline };
      noteAttached(this);
    }
    this.#link.open();
  }

  get #isIdle() {
    return this.#requests.isEmpty && this.#watches.size === 0 && this.#calls.isIdle;
  }

  /** While this is idle, collection may end it: sockets and threads refer to it weakly. */
  #noteUse() {
    if (this.#isIdle) outside().busy.delete(this);
    else outside().busy.add(this);
  }

  /** The next use begins a new session. @returns {boolean} false: there is something to keep */
  detachIfIdle() {
    if (!this.#isIdle) return false;
    this.#end();
    return true;
  }

  #helperState() {
    const watches = Array.from(this.#watches, (watch) => watch.state);
    return { ...this.#state((t) => t), watches };
  }

  /**
   * All that this client says of itself, and has, for a broker that may know less.
   * @param {(t: number) => number} toBrokerTime
   */
  #state(toBrokerTime) {
    const { id, lifeline } = /** @type {{ id: string, lifeline: Lifeline }} */ (this.#session);
    return {
      session: id,
      clientId: this.clientId,
      pid: process.pid,
      pidNamespace: pidNamespace(),
      threadId,
      thread: threadName(),
      lifeline: lifeline.name,
      upTo: this.#requests.lastNumber,
      requests: Array.from(this.#requests.values(), (entry) => reportOf(entry, toBrokerTime)),
    };
  }

  /**
   * All requests and calls, with the times at which they were made, which is their order.
   * @param {(t: number) => number} toBrokerTime
   * @returns {unknown[][]}
   */
  #handshake(toBrokerTime) {
    for (const watch of this.#watches) watch.reopen();
    const calls = this.#calls.messages(toBrokerTime);
    const state = handshakeMessages(this.#state(toBrokerTime), false);
    const watched = [...this.#requests.values()].filter(({ waiting }) => waiting !== undefined);
    return [...calls, ...state, ...watched.map(({ number, waiting }) => ['k', number, waiting])];
  }

  /** Usually a broker has died: the next broker gets the whole state. */
  #onClose() {
    if (!this.#isIdle || this.#hasCancelled) this.#connect();
  }

  /** @param {any[]} message */
  #receive(message) {
    this.#calls.noteAnswer();
    const [kind, id, value, items] = message;
    if (kind === 'a') this.#calls.receive(id, value);
    else if (kind === 'p') this.#calls.receivePart(id, value, items);
    else if (kind === 'x') this.#calls.receiveError(id, new DOMException(items, value));
    else if (kind === 'over') this.#onOver(new DOMException(value, id), items);
    else if (Object.hasOwn(REQUEST_MESSAGES, kind)) this.#onRequest(kind, id, message.slice(2));
  }

  /**
   * A message of a broker, which may have sent the same before.
   * @param {string} kind
   * @param {number} number
   * @param {any[]} rest
   */
  #onRequest(kind, number, rest) {
    const entry = this.#requests.get(number);
    if (entry === undefined) return;
    const isEnding = entry.onEnded !== undefined;
    if (kind === 'k' && !entry.isHeld) return;
    if (kind === 'd' ? !isEnding : !'lk'.includes(kind) && (isEnding || entry.isHeld)) return;
    const isLost = (kind === 'l' || kind === 'd') && (rest[0] ?? undefined) !== undefined;
    if (isLost) this.#link.send(['f', number]); // the broker need not keep the loss any longer
    this.#requests.onMessage({ ...REQUEST_MESSAGES[kind](...rest), number });
  }

  /**
   * The broker serves no more. If the directory was removed and this agent had nothing in the
   * table, requests and calls go to the next broker, in a new session.
   * @param {Error} error
   * @param {number} [knownUpTo]  the highest number of a request that the table has had; undefined:
   *   the directory was not removed
   */
  #onOver(error, knownUpTo = Infinity) {
    const isNew = (/** @type {Entry} */ { number, isHeld }) => number > knownUpTo && !isHeld;
    const hadNothing =
      [...this.#requests.values()].every(isNew) && [...this.#watches].every((it) => !it.isOpen);
    if (knownUpTo === Infinity || !hadNothing) return this.#failAll(error);
    this.#end();
    try {
      this.#onClose();
    } catch (failure) {
      this.#failAll(/** @type {Error} */ (failure));
    }
  }

  /**
   * There is no broker, or it has no say any more: the next use begins anew.
   * @param {Error} error
   */
  #failAll(error) {
    this.#end();
    this.#requests.loseAll(/** @type {DOMException} */ (error), (loss) =>
      this.#requests.onMessage(loss),
    );
    for (const watch of this.#watches) watch.fail(error);
    this.#calls.failAll(error);
  }

  #checkOpen() {
    if (this.#isClosed) throw managerClosedError();
  }
}

module.exports = { BrokerBackend, BrokerCalls };
