'use strict';

const { existsSync, lstatSync, readdirSync, readFileSync, statSync } = require('node:fs');
const path = require('node:path');
const {
  defaultDirectory,
  isOwnDirectory,
  otherDirectoryText,
  toBucketName,
} = require('../bucket-directory.js');
const {
  DISCONNECTED,
  EVENT_FAILED,
  EVENT_GRANTED,
  GRANTED_BEHIND,
  EVENT_MISSED,
  EVENT_RELEASED,
  HAS_EVENTS,
  HAS_OTHERS,
  BACKGROUND,
  IF_AVAILABLE,
  LOSS_UNKNOWN,
  OUTCOME_BITS,
  SELF_DEADLOCK,
  SHARED,
  STEAL,
  USER_BLOCKING,
} = require('./native-constants.js');
const { RESOLVED, apply, queueMicrotask, then } = require('../../time.js');
const { loadBinding } = require('../../binding.js');
const {
  closedError,
  disconnectedError,
  managerClosedError,
  WAS_CLOSED,
} = require('../../errors.js');
const { lazy } = require('../../lazy.js');
const {
  EVENT_DISCONNECTED,
  NO_ID,
  priorityOfContention,
  reasonOfEvent,
  reasonOfLoss,
  AgentRequests,
} = require('./agent-requests.js');
const { BiasedLocks } = require('./biased-locks.js');
const { createClientId } = require('../client-id.js');
const { noteAttached } = require('../idle-agents.js');
const { addThreadUser } = require('../thread-users.js');
const { GRANTED, MISSED, QUEUED } = require('../outcome.js');
const { waitInSlices } = require('../wait-in-slices.js');

/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */

/** Processes that an error names, and how much of their command lines. */
const MAX_NAMED = 5;
const MAX_COMMAND = 80;

/**
 * @typedef {object} AgentOptions  the native part's options for an agent
 * @property {string} bucket
 * @property {number} capacity  in bytes
 * @property {boolean} hasCapacityOption  false: any capacity is accepted
 * @property {string} clientId
 * @property {string} directory  of the bucket
 * @property {boolean} isOfOneUser  whether it must not be a shared one
 * @property {boolean} sweeps
 * @property {number} threadId
 */

/**
 * @param {any} native  the addon
 * @param {string} clientId
 * @param {{ bucket?: string, directory?: string, capacity?: number, sweeps?: boolean }} options
 * @returns {AgentOptions}
 */
function toAgentOptions(native, clientId, { bucket, directory: chosen, capacity, sweeps }) {
  const directory = path.resolve(chosen ?? defaultDirectory());
  return {
    bucket: toBucketName(bucket ?? 'default'),
    capacity: capacity ?? native.DEFAULT_CAPACITY,
    hasCapacityOption: capacity !== undefined,
    clientId,
    directory,
    isOfOneUser: isOwnDirectory(directory),
    sweeps: sweeps ?? true,
    // node:worker_threads takes longer to load than the first lock does; a worker has it anyway.
    threadId: native.isMainThread ? 0 : require('node:worker_threads').threadId,
  };
}

/**
 * Node-API makes an object with so many methods as a dictionary, in which every call looks its
 * method up. As the prototype of another one it becomes a fast object once it is used often.
 * @param {any} native
 * @param {AgentOptions} options
 * @param {Int32Array} words  the native part writes tokens and events here
 * @param {() => void} onEvents
 * @returns {any} the native agent
 * @throws DOMException when the bucket cannot be opened, with what to do about it
 */
function openAgent(native, options, words, onEvents) {
  try {
    const agent = native.openAgent(options, new Uint32Array(words.buffer), onEvents);
    warnOfOtherCapacity(agent, options);
    return Object.create(agent);
  } catch (error) {
    const { name, message, code } = /** @type {any} */ (error);
    const isOther = code === 'VERSION_MISMATCH';
    const more = isOther ? usersText(options) : otherDirectoryText(options.directory);
    throw toError({ name, message: `${message}: ${pathToName(options)}${more}`, code });
  }
}

/**
 * The path that an error names: the folder of the bucket, or the directory that is to contain it if
 * the directory itself is refused.
 * @param {AgentOptions} options
 */
function pathToName({ directory, bucket }) {
  try {
    const { accessOf } = require('../directory-access.js');
    const found = lstatSync(directory);
    const access = found.isDirectory() ? accessOf(found, directory) : 'not a directory';
    if (typeof access === 'string') return directory;
    const folder = path.join(directory, bucket);
    // No user but its members sees what is in a shared directory.
    const isAbout =
      access.group === undefined ? (found.mode & 0o777) === 0o700 : existsSync(folder);
    return isAbout ? folder : directory;
  } catch {
    return directory;
  }
}

/**
 * An existing bucket keeps its capacity. Refusing it would stop a new release of a program,
 * deployed with another capacity, from sharing locks with the old one.
 * @param {any} agent  native
 * @param {AgentOptions} options
 */
function warnOfOtherCapacity(agent, { bucket, directory, hasCapacityOption, capacity: requested }) {
  if (!hasCapacityOption) return;
  const [capacity] = agent.usage();
  if (capacity === requested) return;
  process.emitWarning(
    `The lock table of the bucket '${bucket}' in ${directory} was made with a capacity of ` +
      `${capacity} bytes and keeps it; ${requested} were requested. To change it, end all ` +
      'processes that use the bucket and remove its folder.',
    { type: 'HoldfastWarning', code: 'HOLDFAST_CAPACITY' },
  );
}

/**
 * Returns the bucket's real path, with links resolved.
 * @param {AgentOptions} options  of an agent that is open
 */
function realPathOf({ bucket, directory }) {
  const { realpathSync } = require('node:fs');
  return path.join(realpathSync(directory), bucket);
}

/** @param {AgentOptions} options */
const segmentOf = ({ directory, bucket }) => path.join(directory, bucket, 'segment');

/**
 * The processes that have mapped a lock table, as far as this process may see them.
 * @param {AgentOptions} options
 */
function usersText(options) {
  const isUser = (/** @type {string} */ pid, /** @type {RegExp} */ line) => {
    try {
      return pid !== String(process.pid) && line.test(readFileSync(`/proc/${pid}/maps`, 'utf8'));
    } catch {
      return false; // it has ended, or belongs to another user
    }
  };
  try {
    const line = new RegExp(` ${statSync(segmentOf(options)).ino} +/.*/segment$`, 'm');
    const users = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isUser(name, line));
    if (users.length === 0) {
      const elsewhere = 'see in other containers, and as root, who sees all users';
      return `; none of them is visible here: ${elsewhere}`;
    }
    const named = users.slice(0, MAX_NAMED).map((pid) => {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      return `${pid} (${words.join(' ').trim().slice(0, MAX_COMMAND)})`;
    });
    const more = users.length - named.length;
    return `; used by process ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  } catch {
    return ''; // no /proc
  }
}

/**
 * The error of an agent's last call.
 * @param {any} agent  native
 * @param {AgentOptions} options
 */
function lastErrorOf(agent, options) {
  const error = agent.lastError();
  if (error.code !== 'NO_SPACE') return toError(error);
  return toError({ ...error, message: `${error.message}: ${options.directory}` });
}

/** @param {{ name: string, message: string, code: string }} error  of the native part */
function toError({ name, message, code }) {
  if (name === 'TypeError') return new TypeError(message);
  return Object.assign(new DOMException(message, name), { reason: code });
}

/**
 * Whether these are the extras of any request in a callback, and nothing more.
 * @param {import('../../../types/backend.d.ts').LockRequestExtras} extras
 */
const isOnlyInside = ({ limit, holdLimit, label, callSite, maxPending }) =>
  limit === 0 && holdLimit === 0 && label === '' && callSite === '' && maxPending === Infinity;

const PRIORITY_FLAGS = {
  background: BACKGROUND,
  'user-visible': 0,
  'user-blocking': USER_BLOCKING,
};

/** The native part's number for any number of waiting requests. */
const ANY_NUMBER = 0xffff_ffff;

/**
 * Passes requests to the native part: as numbers, and strings only if the native part does not have
 * them yet.
 */
class RequestCaller {
  /** The last name that was passed alone; the native agent remembers it, too. Empty at first. */
  #lastName = '';

  /** To be called before the first call of another native agent. */
  reset() {
    this.#lastName = '';
  }

  /**
   * @param {any} agent  native
   * @param {Request} request
   * @returns {number} id << OUTCOME_BITS | outcome, or -1: see agent.lastError()
   */
  call(agent, request) {
    let flags = 0;
    if (request.mode === 'shared') flags |= SHARED;
    if (request.ifAvailable) flags |= IF_AVAILABLE;
    if (request.steal) flags |= STEAL;
    const { name, extras } = request;
    if (extras === undefined) return this.#callPlain(agent, name, flags);
    flags |= PRIORITY_FLAGS[extras.priority];
    if (isOnlyInside(extras)) return this.#callInside(agent, name, flags, extras.enclosing);
    return agent.requestWithExtras(
      name,
      flags,
      extras.limit,
      extras.holdLimit,
      extras.label,
      extras.enclosing?.tokenHigh ?? 0,
      extras.enclosing?.tokenLow ?? 0,
      extras.callSite,
      request.ifAvailable ? 0 : Math.min(extras.maxPending, ANY_NUMBER),
    );
  }

  /**
   * Passing a string costs as much as taking a free lock word.
   * @param {any} agent
   * @param {string} name
   * @param {number} flags
   * @returns {number}
   */
  #callPlain(agent, name, flags) {
    if (name === this.#lastName) return agent.requestAgain(flags);
    const answer = agent.request(name, flags);
    this.#lastName = name; // not before: at the end of the stack the call throws
    return answer;
  }

  /**
   * @param {any} agent
   * @param {string} name
   * @param {number} flags
   * @param {import('../../../types/backend.d.ts').EnclosingLock | undefined} enclosing
   * @returns {number}
   */
  #callInside(agent, name, flags, enclosing) {
    const high = enclosing?.tokenHigh ?? 0;
    const low = enclosing?.tokenLow ?? 0;
    if (name === this.#lastName) return agent.requestEnclosedAgain(flags, high, low);
    const answer = agent.requestEnclosed(name, flags, high, low);
    this.#lastName = name;
    return answer;
  }
}

/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LockLossReason */

/** Losses not yet delivered, of requests that the native part has already forgotten. */
class PendingLosses {
  /** @type {Map<Request, { loss: LockLossReason, report: (() => void) | undefined }>} */
  #losses = new Map();

  /**
   * @param {Request} request
   * @param {LockLossReason} loss  the answer to take()
   * @param {() => void} [report]  called by flush(); without it only take() delivers the loss
   */
  add(request, loss, report = undefined) {
    this.#losses.set(request, { loss, report });
  }

  /**
   * @param {Request} request
   * @returns {LockLossReason | undefined} undefined when no loss is pending
   */
  take(request) {
    const pending = this.#losses.get(request);
    this.#losses.delete(request);
    return pending?.loss;
  }

  flush() {
    for (const [request, { report }] of this.#losses) {
      if (report === undefined) continue;
      this.#losses.delete(request);
      report();
    }
  }
}

/**
 * Calls a function in a microtask, once, however often it is scheduled before. The microtask uses
 * no then() of the program: a then() that throws would end all later calls.
 */
class MicrotaskCall {
  #isScheduled = false;
  #call;

  /** @param {() => void} call */
  constructor(call) {
    this.#call = () => {
      this.#isScheduled = false;
      call();
    };
  }

  schedule() {
    if (this.#isScheduled) return;
    apply(then, RESOLVED, [this.#call]);
    this.#isScheduled = true; // not before: at the end of the stack the call throws
  }
}

/** @typedef {import('../../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('../../../types/backend.d.ts').LockOutcome} LockOutcome */
/** @typedef {import('./watch.js').SharedMemoryWatch} SharedMemoryWatch */

const createWatch = lazy(() => require('./watch.js').createWatch);
const view = lazy(() => require('./snapshot.js'));

const OUTCOME_MASK = (1 << OUTCOME_BITS) - 1;
const MAX_HOLDERS = 100; // the default of holdersOf()

/**
 * The backend over the lock table in shared memory: one agent of a bucket. The native part sees ids
 * and numbers only; promises and callbacks stay here.
 * @implements {LockBackend}
 */
class SharedMemoryBackend {
  clientId = createClientId();
  #native = loadBinding();
  bucket;
  folder;
  #options;
  /** The native agent; null from the loss of the lock table to the next use, which reopens it. */
  #agent;
  /** @type {string | undefined} made at the first use */
  #table = undefined;
  #requests = new AgentRequests();
  #biased = new BiasedLocks(this.#requests);
  #caller = new RequestCaller();
  #pendingLosses = new PendingLosses();
  /** For a grant by the end of another request here: a turn of the loop costs several times it. */
  #eventReading = new MicrotaskCall(() => {
    if (this.#agent !== null) this.#onEvents();
    const late = this.#lateGrants;
    this.#lateGrants = [];
    for (const request of late) if (request.backendId !== NO_ID) request.granted();
  });
  /** Granted at once, and reported after the older events, in their order. @type {Request[]} */
  #lateGrants = [];
  /** @type {Set<SharedMemoryWatch>} */
  #watches = new Set();
  #isClosed = false;
  #lastError = () => lastErrorOf(this.#agent, this.#options);
  /** Why the last native agent was closed. */
  #whyLost = '';

  /**
   * @param {{ bucket?: string, directory?: string, capacity?: number, sweeps?: boolean }} [options]
   * `sweeps: false`, for tests, turns off the fallback that finds what the mechanisms missed
   * @throws DOMException when the bucket cannot be opened, with what to do about it
   */
  constructor(options = {}) {
    this.#options = toAgentOptions(this.#native, this.clientId, options);
    this.bucket = this.#options.bucket;
    this.folder = path.join(this.#options.directory, this.bucket);
    this.#agent = this.#open();
    addThreadUser(this);
  }

  /** Identifies the lock table: the same for all backends of a bucket, by whatever path. */
  get table() {
    return (this.#table ??= realPathOf(this.#options));
  }

  get place() {
    return `shm://${this.folder}`;
  }

  /**
   * @param {Request} request
   * @param {boolean} [isBlocking]
   * @returns {LockOutcome}
   */
  enqueue(request, isBlocking = false) {
    return this.#lateGrants.length === 0 && this.#biased.acquire(request)
      ? GRANTED
      : this.#enqueue(request, isBlocking);
  }

  /**
   * @param {Request} request
   * @param {boolean} isBlocking
   * @returns {LockOutcome}
   */
  #enqueue(request, isBlocking) {
    if (request.steal) this.#eventReading.schedule(); // it may take locks of this agent
    let answer = this.#caller.call(this.#attached(), request);
    if (answer < 0) {
      this.#reopenOrThrow();
      answer = this.#caller.call(this.#attached(), request);
      if (answer < 0) throw this.#fail();
    }
    const outcome = answer & OUTCOME_MASK;
    if (outcome === MISSED) return MISSED;
    const id = answer >>> OUTCOME_BITS;
    const { byId, words } = this.#requests; // no call from here on, see there
    byId[id] = request;
    request.backendId = id;
    if (outcome === QUEUED) return QUEUED;
    if (words[0] !== 0) {
      request.tokenHigh = words[0];
      request.tokenLow = words[1];
    }
    const isLate = outcome === GRANTED_BEHIND || this.#lateGrants.length > 0;
    if (isBlocking || !isLate) return GRANTED;
    try {
      this.#eventReading.schedule();
      this.#lateGrants.push(request);
      return QUEUED;
    } catch {
      return GRANTED; // at the end of the stack
    }
  }

  /**
   * @param {Request} request
   * @returns {LockLossReason | undefined | Promise<LockLossReason | undefined>} how the lock had
   * been lost, if it was; a promise of it if the table is busy
   */
  release(request) {
    return this.#biased.release(request) ? undefined : this.#release(request);
  }

  /**
   * Like release(), but blocks the thread where release() would return a promise.
   * @param {Request} request
   * @returns {LockLossReason | undefined}
   */
  releaseSync(request) {
    if (this.#biased.release(request)) return undefined;
    return /** @type {LockLossReason | undefined} */ (this.#release(request, true));
  }

  /**
   * @param {Request} request
   * @param {boolean} [isSync]
   */
  #release(request, isSync = false) {
    const id = request.backendId;
    if (id === NO_ID) return this.#pendingLosses.take(request);
    const isToBeBiased = request.extras === undefined && this.#biased.shouldBias(request.name);
    const answer = isToBeBiased ? this.#biased.releaseAndBias(request) : this.#agent.end(id);
    this.#requests.byId[id] = null;
    request.backendId = NO_ID;
    const loss = answer === 0 ? 0 : this.#lossOf(answer); // mostly 0: no event to handle
    if (loss !== LOSS_UNKNOWN) return reasonOfLoss(loss);
    if (!isSync) return apply(then, this.#requests.awaitRelease(id), [reasonOfEvent]);
    const kind = waitInSlices(Infinity, (ms) => {
      const event = this.#agent.waitFor(id, ms);
      this.#onEvents(this.#agent.readTakenEvents); // the answer may have come since
      if (event >= 0) return event & ~HAS_OTHERS;
      return this.#agent === null ? EVENT_DISCONNECTED : undefined;
    });
    return reasonOfEvent(/** @type {number} */ (kind));
  }

  /** @param {Request} request */
  changePriority({ backendId, extras }) {
    if (backendId === NO_ID || extras === undefined) return;
    this.#agent?.changePriority(backendId, PRIORITY_FLAGS[extras.priority]);
  }

  /** @param {Request} request */
  watchContention({ backendId }) {
    if (backendId === NO_ID || this.#agent === null) return null;
    return priorityOfContention(this.#agent.watchContention(backendId));
  }

  /**
   * @param {Request} request
   * @param {boolean} [isTimeout]
   */
  cancel(request, isTimeout = false) {
    if (this.#pendingLosses.take(request) !== undefined || request.backendId === NO_ID) return;
    const id = request.backendId;
    const answer = isTimeout ? this.#agent.timeOut(id) : this.#agent.end(id);
    this.#requests.byId[id] = null;
    request.backendId = NO_ID;
    if (!isTimeout && this.#lossOf(answer) === LOSS_UNKNOWN) void this.#requests.awaitRelease(id);
  }

  /**
   * @param {Request} request
   * @param {number} timeout
   * @returns {import('../../../types/backend.d.ts').SyncOutcome}
   */
  waitSync(request, timeout) {
    return waitInSlices(timeout, (ms) => {
      const answer = this.#agent.waitFor(request.backendId, ms);
      if (answer >= 0 && answer !== SELF_DEADLOCK) return this.#decide(request, answer);
      this.#handleOthers(request);
      return answer === SELF_DEADLOCK ? 'deadlock' : undefined;
    });
  }

  /** @param {string} name */
  modesOf(name) {
    return this.#requests.byId.flatMap((it) => (it?.name === name ? [it.mode] : []));
  }

  /** @returns {Promise<import('../../../types/locks.d.ts').LockManagerSnapshot>} */
  async snapshot() {
    return view().takeSnapshot(() => this.#callAgent((agent) => agent.snapshot()));
  }

  /** @returns {Promise<import('../../../types/backend.d.ts').LockInspection>} */
  async inspect() {
    return view().takeInspection(() => this.#callAgent((agent) => agent.inspect()));
  }

  /**
   * @param {readonly number[]} requestIds
   * @param {import('../../../types/backend.d.ts').WaitWalkOptions} options
   * @returns {Promise<import('../../../types/backend.d.ts').WaitWalk>}
   */
  async waitsOf(requestIds, options) {
    return view().walkWaits((call) => this.#callAgent(call), requestIds, options);
  }

  /**
   * @param {string} name
   * @param {number} [max]
   * @returns {import('../../../types/backend.d.ts').LockDetail[]}
   */
  holdersOf(name, max = MAX_HOLDERS) {
    if (this.#isClosed || this.#agent === null) return [];
    try {
      return view().takeHolders(this.#agent.holdersOf(name, max));
    } catch {
      return []; // what reads them is loaded here, which takes a descriptor
    }
  }

  /**
   * Whether the grant of a waiting request may be on its way: it was granted, all holders have
   * died, or the table is unreadable now.
   * @param {Request} request
   * @returns {boolean}
   */
  isUndecided({ backendId, name }) {
    if (this.#agent === null || backendId === NO_ID) return false;
    // The grant may wait to be read. No holder is shown while the table is busy.
    const holders = this.holdersOf(name);
    const isOwn = (/** @type {import('../../../types/backend.d.ts').LockDetail} */ holder) =>
      holder.clientId === this.clientId && holder.requestId === backendId;
    return holders.length === 0 || holders.some(isOwn);
  }

  /**
   * A dead holder does not count. If a stopped process keeps the table unreadable, this returns
   * true: then no request can be granted either.
   * @param {string} name
   * @param {number} [min]
   * @returns {boolean}
   */
  isLocked(name, min = 1) {
    return this.#callAgent((agent) => agent.isLocked(name, min)) === 1;
  }

  /**
   * @param {string | undefined} name
   * @returns {SharedMemoryWatch}
   */
  watch(name) {
    const create = createWatch(); // load it first: if that fails, there is no watch to close
    const id = this.#callAgent((agent) => agent.openWatch(name));
    const agent = this.#agent;
    const watch = create(agent, id, {
      fail: () => this.#fail(),
      whyGone: () => (this.#agent === agent ? undefined : this.#whyLost),
      ended: () => this.#watches.delete(watch),
      hasNet: this.#options.sweeps,
    });
    this.#watches.add(watch);
    return watch;
  }

  /** @returns {import('../../../types/backend.d.ts').LockTableUsage} */
  usage() {
    return view().takeUsage(this.#attached().usage());
  }

  /** @returns {number[]} */
  lifeDescriptors() {
    const descriptors = this.#attached().lifeDescriptors();
    if (descriptors === undefined) throw this.#fail();
    return descriptors;
  }

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const watch of this.#watches) watch.close();
    if (this.#agent === null) return;
    this.#giveUp(closedError, EVENT_RELEASED, WAS_CLOSED);
    // Synchronously: a callback that was about to run must not run beside the next holder.
    this.#pendingLosses.flush();
  }

  /** @returns {any} the native agent */
  #attached() {
    this.#checkOpen();
    return (this.#agent ??= this.#open());
  }

  /** @returns {any} the native agent */
  #open() {
    this.#caller.reset();
    const { words } = this.#requests;
    const agent = openAgent(this.#native, this.#options, words, () => this.#onEvents());
    noteAttached(this);
    return this.#biased.attach(agent);
  }

  /** The next use opens the table again. @returns {boolean} false: there is something to keep */
  detachIfIdle() {
    if (this.#agent === null) return true;
    if (this.#watches.size > 0 || !this.#requests.isEmpty) return false;
    this.#biased.attach(null);
    this.#agent.close();
    this.#agent = null;
    return true;
  }

  /**
   * Closes the native agent. A later microtask, or the caller, notifies all its requests.
   * @param {() => DOMException} makeError  creates the error of the waiting requests
   * @param {number} released  the event kind that answers releases in progress
   * @param {string} because  for those that hold a lock
   */
  #giveUp(makeError, released, because) {
    for (const request of this.#requests.takeAll()) {
      // Its grant was reported or is about to be; a report of a loss may be pending, too.
      const isHeld = request.tokenHigh !== 0 || this.#agent.isHeld(request.backendId);
      const report = isHeld
        ? () => request.lost('disconnected', because)
        : () => request.failed(makeError());
      this.#pendingLosses.add(request, 'disconnected', report);
      request.backendId = NO_ID;
    }
    this.#biased.attach(null);
    this.#agent.close();
    this.#agent = null;
    for (const watch of this.#watches) watch.wake();
    this.#requests.answerReleases(released);
    queueMicrotask(() => this.#pendingLosses.flush());
  }

  /**
   * @param {number} answer  of the native part, to the end of a request
   * @returns {number} 0, or the way in which the lock had been lost
   */
  #lossOf(answer) {
    if ((answer & HAS_EVENTS) !== 0) this.#eventReading.schedule();
    return answer & ~HAS_EVENTS;
  }

  /**
   * Handles the event that waitSync() received for its request.
   * @param {Request} request
   * @param {number} answer  of the native part: the kind of the event, perhaps with HAS_OTHERS
   */
  #decide(request, answer) {
    const kind = answer & ~HAS_OTHERS;
    const error = kind === EVENT_FAILED ? this.#lastError() : undefined;
    if (error === undefined) this.#requests.setToken(request);
    if (kind !== EVENT_GRANTED) this.#requests.forget(request);
    const loss = reasonOfEvent(kind);
    if (loss !== undefined) this.#pendingLosses.add(request, loss);
    if (kind !== answer) this.#onEvents();
    if (error !== undefined) throw error;
    return kind === EVENT_MISSED ? 'missed' : 'granted';
  }

  /**
   * Handles events that arrived during waitSync() for other requests of this agent. Later events
   * may contain the outcome that the request waits for, and are left to the next wait.
   * @param {Request} request  that still waits
   */
  #handleOthers(request) {
    this.#onEvents(this.#agent.readTakenEvents);
    if (this.#pendingLosses.take(request) !== undefined) throw disconnectedError(this.#whyLost);
  }

  /**
   * @template T
   * @param {(agent: any) => T} call
   * @returns {T}
   */
  #callAgent(call) {
    const hasFailed = (/** @type {T | undefined} */ answer) =>
      answer === undefined || answer === -1;
    let answer = call(this.#attached());
    if (hasFailed(answer)) {
      this.#reopenOrThrow();
      answer = call(this.#attached());
      if (hasFailed(answer)) throw this.#fail();
    }
    return answer;
  }

  /**
   * Called after a call of the native agent has failed: throws its error, unless the table was
   * removed and this agent had nothing in it. Then the call can be repeated in a new table.
   */
  #reopenOrThrow() {
    const hadNothing = this.#watches.size === 0 && this.#requests.isEmpty;
    const error = this.#fail();
    if (this.#agent !== null || !hadNothing) throw error;
  }

  /** Returns the error of the native agent's last call; closes the agent if that was final. */
  #fail() {
    const error = this.#lastError();
    if (!this.#agent.isConnected()) this.#disconnect(error);
    return error;
  }

  /**
   * The lock table was removed or replaced, or this process lost its slot in it. All locks and
   * requests are lost; the next use opens the table again.
   * @param {Error} error
   */
  #disconnect({ message }) {
    this.#whyLost = message;
    this.#giveUp(() => disconnectedError(message), EVENT_DISCONNECTED, message);
  }

  #onEvents(read = this.#agent.readEvents) {
    const answer = this.#requests.reportAll(read, this.#lastError);
    if (answer === undefined) return;
    if ((answer & DISCONNECTED) !== 0) this.#disconnect(this.#lastError());
    for (const watch of this.#watches) watch.wake();
  }

  #checkOpen() {
    if (this.#isClosed) throw managerClosedError();
  }
}

module.exports = { RequestCaller, openAgent, toAgentOptions, PendingLosses, SharedMemoryBackend };
