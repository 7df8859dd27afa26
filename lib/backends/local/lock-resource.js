'use strict';

const { EntryList } = require('./lock-entry.js');

/** @typedef {import('./lock-entry.js').LockEntry} LockEntry */
/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */

/** One resource name: its part of the held lock set and of the lock request queue. */
class LockResource {
  /** @type {EntryList<LockEntry>} */
  held = new EntryList();
  /** @type {EntryList<LockEntry>} */
  queue = new EntryList();

  /** @param {string} name */
  constructor(name) {
    this.name = name;
  }

  /**
   * Standard: Web Locks, "grantable" (#concept-lock-request). The queue is strict, so a request
   * that is first is grantable if its mode is compatible with the held locks. Beyond the standard,
   * `limit` is the maximum number of holders, this request included.
   * @param {Request} request  first in the queue
   */
  isGrantable({ mode, extras }) {
    const holder = this.held.first;
    if (holder === null) return true;
    if (mode !== 'shared' || holder.request.mode !== 'shared') return false;
    return extras === undefined || extras.limit === 0 || this.held.size < extras.limit;
  }

  get isUnused() {
    return this.held.first === null && this.queue.first === null;
  }
}

module.exports = { LockResource };
