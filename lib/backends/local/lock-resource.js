'use strict';

const { EntryList } = require('./lock-entry.js');

/** @typedef {import('./lock-entry.js').LockEntry} LockEntry */
/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */

/** Everything of one name: its part of the held lock set and of the lock request queue. */
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
   * Standard: Web Locks, "grantable" (#concept-lock-request). With a strict queue it takes no more
   * than this: a request that is first in its queue is grantable when its mode agrees with what is
   * held. Beyond the standard, a request with a limit has room for so many holders, itself among
   * them.
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
