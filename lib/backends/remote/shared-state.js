'use strict';

const { isPast, toSharedEnd } = require('./steady-clock.js');

/** @typedef {import('./request-table.js').RequestTable} RequestTable */

/**
 * The words of the shared buffer: how many messages the thread has sent, and its phase.
 * Behind them stands the number of its session, in 64 bits, and the end of its validity, by
 * the two clocks of steady-clock.js.
 */
const COUNT = 0;
const PHASE = 1;
const SESSION_OFFSET = 8;
const END_OFFSET = 16;
const BYTES = 32;

const NO_SESSION = 0n;

/** The phases of the thread, which notes them itself: events of it need a free loop. */
const STARTING = 0;
const RUNNING = 1;
const ENDED = 2;

/** The state that a thread and its agent's thread share: one of them may be blocked. */
class SharedState {
  #words;
  #session;
  #end;

  /** @param {SharedArrayBuffer} [buffer] */
  constructor(buffer = new SharedArrayBuffer(BYTES)) {
    this.buffer = buffer;
    this.#words = new Int32Array(buffer, 0, SESSION_OFFSET / Int32Array.BYTES_PER_ELEMENT);
    this.#session = new BigInt64Array(buffer, SESSION_OFFSET, 1);
    this.#end = new BigInt64Array(buffer, END_OFFSET);
  }

  /** Called in the session's thread, which notes its own end from then on. */
  noteStart() {
    Atomics.compareExchange(this.#words, PHASE, STARTING, RUNNING);
    this.noteMessage(); // a blocked thread may wait for this
    process.on('exit', () => this.noteEnd());
  }

  noteEnd() {
    Atomics.store(this.#words, PHASE, ENDED);
  }

  noteMessage() {
    Atomics.add(this.#words, COUNT, 1);
    Atomics.notify(this.#words, COUNT);
  }

  /** @param {string | undefined} session  a number; undefined: there is none */
  noteSession(session) {
    Atomics.store(this.#session, 0, session === undefined ? NO_SESSION : BigInt(session));
  }

  /** @returns {string | undefined} */
  get session() {
    const session = Atomics.load(this.#session, 0);
    return session === NO_SESSION ? undefined : session.toString();
  }

  /** @param {number} leftMs  until the session counts as lost */
  noteValidity(leftMs) {
    const [running, boot] = toSharedEnd(leftMs);
    Atomics.store(this.#end, 0, BigInt(Math.floor(running)));
    Atomics.store(this.#end, 1, BigInt(Math.floor(boot)));
  }

  /**
   * The end is read before the number: a session that follows extends its own.
   * @param {string} session
   */
  isSessionOver(session) {
    const end = [Number(Atomics.load(this.#end, 0)), Number(Atomics.load(this.#end, 1))];
    return isPast(/** @type {[number, number]} */ (end)) || this.session !== session;
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

/** The agents of this thread that have requests. @type {Set<Agent>} */
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
 * @returns {{ session: string, number: number }[]} in the sessions of now
 */
function inSessions(own) {
  return own.flatMap(({ shared, numbers }) => {
    const { session } = new SharedState(shared);
    return session === undefined ? [] : numbers.map((number) => ({ session, number }));
  });
}

module.exports = { SharedState, agents, findOwnRequests, inSessions };
