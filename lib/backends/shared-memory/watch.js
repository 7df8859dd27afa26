'use strict';

const { disconnectedError } = require('../../errors.js');
const { priorityOfRank } = require('../../task-priority.js');
const { toToken } = require('./snapshot.js');
const { clearTimeout, performance, setImmediate, setTimeout } = require('../../time.js');

/** @typedef {import('../../../types/backend.d.ts').LockBackendWatch} LockBackendWatch */
/** @typedef {import('../../../types/backend.d.ts').LockEvent} LockEvent */

/** @typedef {any[]} FlatEvents  as the native part returns them */

/** Indexes of the values of an event: kWatchEventFields in src/binding/agent_wrap.h. */
const EVENT = Object.freeze({
  NAME: 0,
  TYPE: 1,
  MODE: 2,
  CLIENT_ID: 3,
  PID: 4,
  THREAD_ID: 5,
  TOKEN: 6,
  TIME: 8,
  LOST: 9,
  REQUEST_ID: 10,
  PRIORITY: 11,
  OVERTAKES: 12,
});
const EVENT_FIELDS = 13;

/** Indexed by the native number of the type. */
const EVENT_TYPES = /** @type {const} */ ([
  undefined,
  'queued',
  'granted',
  'released',
  'aborted',
  'timedout',
  'stolen',
  'expired',
  'died',
]);

/**
 * @param {FlatEvents} flat
 * @param {number} at
 * @returns {LockEvent}
 */
function toLockEvent(flat, at) {
  return {
    type: /** @type {LockEvent['type']} */ (EVENT_TYPES[flat[at + EVENT.TYPE]]),
    name: flat[at + EVENT.NAME],
    mode: flat[at + EVENT.MODE] === 0 ? 'exclusive' : 'shared',
    clientId: flat[at + EVENT.CLIENT_ID],
    pid: flat[at + EVENT.PID],
    threadId: flat[at + EVENT.THREAD_ID],
    token: toToken(flat, at + EVENT.TOKEN),
    time: flat[at + EVENT.TIME],
    lost: flat[at + EVENT.LOST],
    priority: priorityOfRank(flat[at + EVENT.PRIORITY]),
    overtakes: flat[at + EVENT.OVERTAKES],
    requestId: flat[at + EVENT.REQUEST_ID],
  };
}

/**
 * @param {FlatEvents} flat
 * @returns {LockEvent[]}
 */
function toLockEvents(flat) {
  const events = [];
  for (let at = 0; at < flat.length; at += EVENT_FIELDS) events.push(toLockEvent(flat, at));
  return events;
}

/**
 * The minimum time between two wake-ups of a watcher. While many events arrive it polls, so threads
 * that take or release locks rarely pay for a wake-up.
 */
const PAUSE_MS = 20;
/** Between two reads while it pauses. */
const PAUSED_MS = 50;
/** So long a reader that finds events all the time keeps its event loop from turning. */
const TURN_MS = 10;
/** Among the numbers of usage(): the upper half, then the lower. */
const NEWEST_TOKEN_AT = 8;
/** More events than fit into the ring. */
const ALL = 1 << 20;
/** The interval of the fallback poll, which also detects that the lock table was removed. */
const NET_MS = 1000;

/**
 * @typedef {object} WatchRingSource
 * @property {(max: number) => FlatEvents} take returns the available
 *   events; throws when none will follow
 * @property {() => boolean} arm  makes the next event call wake(); true: an event is being written
 * @property {(isPaused: boolean) => void} pause
 * @property {() => number[] | undefined} usage
 * @property {() => void} end  notifies writers that this reader is gone
 * @property {boolean} hasNet
 */

/**
 * One reader of the watch ring in shared memory. Unread events stay in the ring; nothing is
 * buffered here.
 * @implements {LockBackendWatch}
 */
class SharedMemoryWatch {
  #source;
  #isClosed = false;
  #isPaused = false;
  /** When the event loop turned last. */
  #turnedAt = performance.now();
  #armedAt = -Infinity;
  /** @type {NodeJS.Timeout | undefined} */
  #timer = undefined;
  /** @type {(() => void) | undefined} ends the wait for an event */
  #wake = undefined;
  /** @type {(() => void) | undefined} ends any wait */
  #endSleep = undefined;

  /** @param {WatchRingSource} source */
  constructor(source) {
    this.#source = source;
  }

  /** @param {number} max */
  async read(max) {
    if (performance.now() - this.#turnedAt > TURN_MS) await this.#turn();
    while (!this.#isClosed) {
      const flat = this.#source.take(max);
      if (flat.length > 0) return toLockEvents(flat);
      if (this.#isPaused) {
        await this.#sleep(PAUSED_MS);
        continue;
      }
      const rest = this.#armedAt + PAUSE_MS - performance.now();
      if (rest > 0) {
        await this.#sleep(rest);
        continue;
      }
      this.#armedAt = performance.now();
      const isBeingWritten = this.#source.arm();
      // Finds events written before arm(); a later writer wakes this reader.
      const late = this.#source.take(max);
      if (late.length > 0) return toLockEvents(late);
      await this.#untilWoken(isBeingWritten ? PAUSE_MS : NET_MS);
    }
    return [];
  }

  /** There may be an event. */
  wake() {
    this.#wake?.();
  }

  /** @param {boolean} isPaused */
  pause(isPaused) {
    if (this.#isClosed) return;
    this.#isPaused = isPaused;
    this.#source.pause(isPaused);
    this.#endSleep?.(); // no longer at the pace of a pause
  }

  drain() {
    return this.#isClosed ? [] : toLockEvents(this.#source.take(ALL));
  }

  newestToken() {
    const numbers = this.#isClosed ? undefined : this.#source.usage();
    if (numbers === undefined) return undefined;
    return (BigInt(numbers[NEWEST_TOKEN_AT]) << 32n) | BigInt(numbers[NEWEST_TOKEN_AT + 1]);
  }

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#source.end();
    clearTimeout(this.#timer);
    this.#endSleep?.();
  }

  /** A reader that is slower than the writers would never wait, and nothing else would run. */
  async #turn() {
    await new Promise((resolve) => setImmediate(resolve));
    this.#turnedAt = performance.now();
  }

  /** @param {number} ms */
  async #untilWoken(ms) {
    const isForEver = ms === NET_MS && !this.#source.hasNet;
    const woken = this.#sleep(isForEver ? undefined : ms);
    this.#wake = this.#endSleep;
    await woken;
    this.#wake = undefined;
    clearTimeout(this.#timer);
  }

  /**
   * @param {number | undefined} ms  undefined: until #endSleep()
   * @returns {Promise<void>}
   */
  #sleep(ms) {
    return new Promise((resolve) => {
      const wake = () => {
        this.#turnedAt = performance.now();
        resolve();
      };
      this.#endSleep = wake;
      if (ms !== undefined) this.#timer = setTimeout(wake, ms).unref();
    });
  }
}

/**
 * @param {any} agent  the native agent
 * @param {number} id  of its watch
 * @param {object} backend
 * @param {() => Error} backend.fail  returns the error of the agent's last call
 * @param {() => string | undefined} backend.whyGone  undefined: the agent is still open
 * @param {() => void} backend.ended
 * @param {boolean} backend.hasNet
 */
function createWatch(agent, id, { fail, whyGone, ended, hasNet }) {
  return new SharedMemoryWatch({
    take: (max) => {
      const why = whyGone();
      if (why !== undefined) throw disconnectedError(why);
      const flat = agent.readWatch(id, max);
      if (flat === undefined) throw fail();
      return flat;
    },
    arm: () => agent.armWatch(id),
    usage: () => (whyGone() === undefined ? agent.usage() : undefined),
    pause: (isPaused) => {
      if (whyGone() === undefined) agent.pauseWatch(id, isPaused);
    },
    end: () => {
      ended();
      if (whyGone() === undefined) agent.closeWatch(id);
    },
    hasNet,
  });
}

module.exports = { SharedMemoryWatch, createWatch, toLockEvents };
