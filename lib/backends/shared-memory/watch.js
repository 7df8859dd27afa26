'use strict';

const { invalidStateError } = require('../../errors.js');
const { toLockEvents } = require('./native-decode.js');
const { clearTimeout, performance, setTimeout } = require('../../time.js');

/** @typedef {import('../../../types/backend.d.ts').LockBackendWatch} LockBackendWatch */

/**
 * Between two times that a watcher asks to be woken: while much happens it looks by itself, and
 * who takes or releases a lock pays for a wake-up no more often.
 */
const PAUSE_MS = 20;
/** The net under the wake-ups; it also finds that the lock table was removed. */
const NET_MS = 1000;

/**
 * @typedef {object} WatchRingSource
 * @property {(max: number) => import('./native-decode.js').FlatEvents} take  what there is; throws
 *   when there will be nothing more
 * @property {() => boolean} arm  from now on the next event calls wake(); true: one is being
 *   written
 * @property {() => void} end  the watch ring need not be written for this reader any more
 * @property {boolean} hasNet
 */

/**
 * One reader of the watch ring in shared memory. What has not been read is there and nowhere else.
 * @implements {LockBackendWatch}
 */
class SharedMemoryWatch {
  #source;
  #isClosed = false;
  #armedAt = -Infinity;
  /** @type {NodeJS.Timeout | undefined} */
  #timer = undefined;
  /** @type {(() => void) | undefined} ends the wait for an event */
  #wake = undefined;
  /** @type {(() => void) | undefined} ends any wait */
  #look = undefined;

  /** @param {WatchRingSource} source */
  constructor(source) {
    this.#source = source;
  }

  /** @param {number} max */
  async read(max) {
    while (!this.#isClosed) {
      const flat = this.#source.take(max);
      if (flat.length > 0) return toLockEvents(flat);
      const rest = this.#armedAt + PAUSE_MS - performance.now();
      if (rest > 0) {
        await this.#sleep(rest);
        continue;
      }
      this.#armedAt = performance.now();
      const isBeingWritten = this.#source.arm();
      // What was written before is found here; who writes now wakes.
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

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#source.end();
    clearTimeout(this.#timer);
    this.#look?.();
  }

  /** @param {number} ms */
  async #untilWoken(ms) {
    const isForEver = ms === NET_MS && !this.#source.hasNet;
    const woken = this.#sleep(isForEver ? undefined : ms);
    this.#wake = this.#look;
    await woken;
    this.#wake = undefined;
    clearTimeout(this.#timer);
  }

  /**
   * @param {number | undefined} ms  undefined: until look()
   * @returns {Promise<void>}
   */
  #sleep(ms) {
    return new Promise((look) => {
      this.#look = look;
      if (ms !== undefined) this.#timer = setTimeout(look, ms).unref();
    });
  }
}

/**
 * @param {any} agent  the native one
 * @param {number} id  of its watch
 * @param {object} backend
 * @param {() => Error} backend.fail  what the last call of the agent failed with
 * @param {() => string | undefined} backend.whyGone  undefined: the agent is still there
 * @param {() => void} backend.ended
 * @param {boolean} backend.hasNet
 */
function createWatch(agent, id, { fail, whyGone, ended, hasNet }) {
  return new SharedMemoryWatch({
    take: (max) => {
      const why = whyGone();
      if (why !== undefined) throw invalidStateError(why);
      const flat = agent.readWatch(id, max);
      if (flat === undefined) throw fail();
      return flat;
    },
    arm: () => agent.armWatch(id),
    end: () => {
      ended();
      if (whyGone() === undefined) agent.closeWatch(id);
    },
    hasNet,
  });
}

module.exports = { SharedMemoryWatch, createWatch };
