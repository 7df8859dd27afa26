'use strict';

/** @typedef {import('./lock-entry.js').LockEntry} LockEntry */
/** @typedef {import('./lock-table.js').Agent} Agent */

/**
 * Walks from a waiting request to the requests and locks ahead of it. The queue is strict, so the
 * request waits for everything that those wait for. The same rule as in src/core/self_deadlock.cc.
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
   * @returns {boolean} whether it belongs to the thread, and the requests met so far wait for its
   * end
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
