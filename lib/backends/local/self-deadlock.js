'use strict';

/** @typedef {import('./lock-entry.js').LockEntry} LockEntry */
/** @typedef {import('./lock-table.js').Agent} Agent */

/**
 * Goes from a waiting request to what was before it. The queue is strict, so the request waits for
 * all that any of them waits for. The same as src/core/self_deadlock.cc.
 */
class WaitPath {
  #isOfThread;
  #hasExclusive = false;
  #ownShared = 0;
  #minLimit = Infinity;

  /**
   * @param {LockEntry} entry
   * @param {(agent: Agent) => boolean} isOfThread
   */
  constructor(entry, isOfThread) {
    this.#isOfThread = isOfThread;
    this.#pass(entry);
  }

  /**
   * @param {LockEntry} before
   * @returns {boolean} whether it is of the thread, and what was met so far waits for its end
   */
  isStoppedBy(before) {
    if (this.#isOfThread(before.agent)) {
      if (before.request.mode === 'exclusive' || this.#hasExclusive) return true;
      this.#ownShared += 1;
      if (this.#ownShared >= this.#minLimit) return true;
    }
    this.#pass(before);
    return false;
  }

  /** @param {LockEntry} entry */
  #pass({ isQueued, request: { mode, extras } }) {
    const limit = extras?.limit ?? 0;
    if (mode === 'exclusive') this.#hasExclusive = true;
    else if (limit !== 0 && isQueued) this.#minLimit = Math.min(this.#minLimit, limit);
  }
}

/**
 * Whether a queued request waits for its own thread.
 * @param {LockEntry} entry
 * @param {(agent: Agent) => boolean} isOfThread
 */
function wouldSelfDeadlock(entry, isOfThread) {
  const path = new WaitPath(entry, isOfThread);
  for (let before = entry.previous; before !== null; before = before.previous) {
    if (path.isStoppedBy(before)) return true;
  }
  for (const holder of entry.resource.held) if (path.isStoppedBy(holder)) return true;
  return false;
}

module.exports = { wouldSelfDeadlock };
