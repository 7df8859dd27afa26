'use strict';

const { isPast, toSharedEnd } = require('./steady-clock.js');
const { toLeaseId, toRequestId } = require('../etcd/keys.js');

/** @typedef {import('./request-table.js').RequestTable} RequestTable */

/**
 * The words of the shared buffer: how many messages the thread has sent, and its phase.
 * Behind them stands the lease of its session, in 64 bits, and the end of the lease's validity, by
 * the two clocks of steady-clock.js.
 */
const COUNT = 0;
const PHASE = 1;
const LEASE_OFFSET = 8;
const END_OFFSET = 16;
const BYTES = 32;

const NO_LEASE = 0n;

/** The phases of the thread, which notes them itself: events of it need a free loop. */
const STARTING = 0;
const RUNNING = 1;
const ENDED = 2;

/** The state that a session's thread and its agent's thread share: one of them may be blocked. */
class SharedState {
  #words;
  #lease;
  #end;

  /** @param {SharedArrayBuffer} [buffer] */
  constructor(buffer = new SharedArrayBuffer(BYTES)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer, 0, LEASE_OFFSET / Int32Array.BYTES_PER_ELEMENT);
    this.#lease = new BigInt64Array(buffer, LEASE_OFFSET, 1);
    this.#end = new BigInt64Array(buffer, END_OFFSET);
  }

  /** Called in the session's thread, which notes its own end from then on. */
  noteStart() {
    Atomics.compareExchange(this.#words, PHASE, STARTING, RUNNING);
    process.on('exit', () => this.noteEnd());
  }

  noteEnd() {
    Atomics.store(this.#words, PHASE, ENDED);
  }

  noteMessage() {
    Atomics.add(this.#words, COUNT, 1);
    Atomics.notify(this.#words, COUNT);
  }

  /** @param {string | undefined} lease  undefined: there is no session */
  noteLease(lease) {
    Atomics.store(this.#lease, 0, lease === undefined ? NO_LEASE : BigInt(lease));
  }

  /** @returns {string | undefined} */
  get lease() {
    const lease = Atomics.load(this.#lease, 0);
    return lease === NO_LEASE ? undefined : lease.toString();
  }

  /** @param {number} leftMs  until the lease counts as lost */
  noteValidity(leftMs) {
    const [running, boot] = toSharedEnd(leftMs);
    Atomics.store(this.#end, 0, BigInt(Math.floor(running)));
    Atomics.store(this.#end, 1, BigInt(Math.floor(boot)));
  }

  /**
   * The end is read before the lease: a session that follows extends its own.
   * @param {string} lease
   */
  isLeaseOver(lease) {
    const end = [Number(Atomics.load(this.#end, 0)), Number(Atomics.load(this.#end, 1))];
    return isPast(/** @type {[number, number]} */ (end)) || this.lease !== lease;
  }

  get hasStarted() {
    return Atomics.load(this.#words, PHASE) !== STARTING;
  }

  get hasEnded() {
    return Atomics.load(this.#words, PHASE) === ENDED;
  }

  get messageCount() {
    return Atomics.load(this.#words, COUNT);
  }

  /**
   * Blocks until there are more messages.
   * @param {number} seen
   * @param {number} ms  at most
   */
  awaitMessage(seen, ms) {
    Atomics.wait(this.#words, COUNT, seen, ms);
  }
}

/**
 * Requests of one agent, as another thread can know them: the agent's session may change meanwhile.
 * @typedef {object} OwnRequests
 * @property {SharedArrayBuffer} shared  with the thread of its session
 * @property {number[]} numbers
 */

/** @typedef {{ shared: SharedArrayBuffer, requests: RequestTable }} Agent */

/** The agents of this thread. @type {Set<Agent>} */
const agents = new Set();

/**
 * All that this thread holds or waits for, and has not ended.
 * @param {string} name
 * @param {import('../../../types/backend.d.ts').LockBackendRequest} request  another one
 * @returns {OwnRequests[]}
 */
function findOwnRequests(name, request) {
  const own = Array.from(agents, ({ shared, requests }) => ({
    shared,
    numbers: requests.numbersOf(name, request),
  }));
  return own.filter(({ numbers }) => numbers.length > 0);
}

/**
 * Called in the thread of a session.
 * @param {OwnRequests[]} own
 * @returns {Set<string>} ids, in the sessions of now
 */
function toRequestIds(own) {
  const ids = own.map(({ shared, numbers }) => {
    const { lease } = new SharedState(shared);
    if (lease === undefined) return [];
    return numbers.map((number) => toRequestId(toLeaseId(lease), number));
  });
  return new Set(ids.flat());
}

module.exports = { SharedState, agents, findOwnRequests, toRequestIds };
