'use strict';

const { toLockEvents } = require('./native-decode.js');
const { clearTimeout, setTimeout } = require('../../time.js');

/** @typedef {import('../../../types/backend.d.ts').LockBackendWatch} LockBackendWatch */

/**
 * How often a watcher that waits looks into the watch ring. Nobody rings for it: that would be a
 * system call for whoever takes or releases a lock.
 */
const POLL_MS = 20;

/**
 * One reader of the watch ring in shared memory. What has not been read is there and nowhere else.
 * @implements {LockBackendWatch}
 */
class SharedMemoryWatch {
  #take;
  #end;
  #isClosed = false;
  /** @type {NodeJS.Timeout | undefined} */
  #timer = undefined;
  /** @type {(() => void) | undefined} ends the wait */
  #look = undefined;

  /**
   * @param {(max: number) => import('./native-decode.js').FlatEvents} take  what there is; throws
   *   when there will be nothing more
   * @param {() => void} end  the watch ring need not be written for this reader any more
   */
  constructor(take, end) {
    this.#take = take;
    this.#end = end;
  }

  /** @param {number} max */
  async read(max) {
    while (!this.#isClosed) {
      const flat = this.#take(max);
      if (flat.length > 0) return toLockEvents(flat);
      await this.#pause();
    }
    return [];
  }

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#end();
    clearTimeout(this.#timer);
    this.#look?.();
  }

  /** @returns {Promise<void>} */
  #pause() {
    return new Promise((look) => {
      this.#look = look;
      this.#timer = setTimeout(look, POLL_MS).unref();
    });
  }
}

/** @type {(...args: ConstructorParameters<typeof SharedMemoryWatch>) => SharedMemoryWatch} */
const createWatch = (take, end) => new SharedMemoryWatch(take, end);

module.exports = { SharedMemoryWatch, createWatch };
