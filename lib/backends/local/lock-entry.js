'use strict';

const { isGrantable } = require('../grantable.js');

/** @typedef {EntryList<LockEntry>} List */
/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */
/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */
/** @typedef {import('../../../types/locks.d.ts').LockInfo} LockInfo */

/**
 * A list in the order of insertion, with removal from anywhere in constant time. An entry carries
 * its own links and is in one list at most.
 * @template {{ list: EntryList<any> | null, previous: any, next: any }} E
 */
class EntryList {
  /** @type {E | null} */
  first = null;
  size = 0;
  /** @type {E | null} */
  #last = null;

  /** @param {E} entry  in no list */
  append(entry) {
    entry.list = this;
    entry.previous = this.#last;
    if (this.#last === null) this.first = entry;
    else this.#last.next = entry;
    this.#last = entry;
    this.size += 1;
  }

  /**
   * Inserts an entry in order. Entries usually arrive in order, so the search begins at the end.
   * @param {E} entry  in no list
   * @param {(a: E, b: E) => boolean} isBefore
   */
  insert(entry, isBefore) {
    let next = null;
    for (let last = this.#last; last !== null && isBefore(entry, last); last = last.previous) {
      next = last;
    }
    if (next === null) {
      this.append(entry);
      return;
    }
    entry.list = this;
    entry.previous = next.previous;
    entry.next = next;
    if (entry.previous === null) this.first = entry;
    else entry.previous.next = entry;
    next.previous = entry;
    this.size += 1;
  }

  /** @param {E} entry  in this list */
  remove(entry) {
    const { previous, next } = entry;
    if (previous === null) this.first = next;
    else previous.next = next;
    if (next === null) this.#last = previous;
    else next.previous = previous;
    entry.list = entry.previous = entry.next = null;
    this.size -= 1;
  }

  *[Symbol.iterator]() {
    for (let entry = this.first; entry !== null; entry = entry.next) yield entry;
  }
}

/**
 * @param {{ tokenHigh: number, tokenLow: number }} request  granted, or the token of an enclosing
 * lock
 */
const tokenOf = ({ tokenHigh, tokenLow }) => (BigInt(tokenHigh) << 32n) | BigInt(tokenLow);

/** The number of the newest entry. */
let lastNumber = 0;

/**
 * A request in the table: in its resource's queue, among the holders, or (once it has ended) in
 * neither.
 */
class LockEntry {
  /** @type {List | null} */
  list = null;
  /** @type {LockEntry | null} */
  previous = null;
  /** @type {LockEntry | null} */
  next = null;
  /**
   * @type {import('../../../types/backend.d.ts').LockLossReason | undefined} why the lock was taken
   *   away
   */
  lossReason = undefined;
  /** Whether the lock was granted from the queue and the request is not notified yet. */
  isGrantOnItsWay = false;
  /** Unique among the requests of this thread. */
  number = ++lastNumber;
  /** Measured by the clock of the table, like the times below. */
  requestedAt;
  grantedAt = 0;
  /** @type {{ endsAt: number, timer: NodeJS.Timeout } | undefined} of a lock with a hold limit */
  hold = undefined;

  /**
   * @param {import('./lock-table.js').Agent} agent
   * @param {Request} request
   * @param {LockResource} resource
   * @param {number} requestedAt
   */
  constructor(agent, request, resource, requestedAt) {
    this.requestedAt = requestedAt;
    this.agent = agent;
    this.request = request;
    this.resource = resource;
  }

  get isQueued() {
    return this.list === this.resource.queue;
  }

  get isHeld() {
    return this.list === this.resource.held;
  }

  /** @returns {LockInfo} */
  get info() {
    return {
      clientId: this.agent.clientId,
      mode: this.request.mode,
      name: this.request.name,
    };
  }

  /** Null before the grant. */
  get token() {
    return this.request.tokenHigh === 0 ? null : tokenOf(this.request);
  }

  /**
   * @param {number} now
   * @param {import('./lock-table.js').LocalClock} clock
   * @param {import('./lock-table.js').Viewer} viewer
   * @returns {LockDetail}
   */
  detailAt(now, clock, viewer) {
    const { isHeld, requestedAt, grantedAt, agent } = this;
    const { extras, mode, name } = this.request;
    return {
      clientId: agent.clientId,
      mode,
      name,
      pid: agent.pidFor(viewer),
      threadId: agent.threadId,
      token: this.token,
      label: extras?.label ?? '',
      callSite: extras?.callSite ?? '',
      limit: extras?.limit ?? 0,
      holdLimit: extras?.holdLimit ?? 0,
      since: clock.toWall(requestedAt),
      waited: (isHeld ? grantedAt : now) - requestedAt,
      held: isHeld ? now - grantedAt : null,
      requestId: this.request.backendId,
      enclosingToken: extras?.enclosing === undefined ? null : tokenOf(extras.enclosing),
    };
  }
}

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

  /** @param {Request} request  first in the queue */
  isGrantable({ mode, extras }) {
    const { first, size } = this.held;
    const isShared = first?.request.mode === 'shared';
    return isGrantable(mode, extras?.limit ?? 0, isShared ? 0 : size, isShared ? size : 0);
  }

  /**
   * How many of the holders a further one may have beside it.
   * @param {Request} request
   */
  compatibleHolders({ mode, extras }) {
    const isShared = mode === 'shared' && this.held.first?.request.mode === 'shared';
    if (!isShared) return 0;
    const limit = extras?.limit ?? 0;
    return limit === 0 ? this.held.size : Math.min(this.held.size, limit - 1);
  }

  get isUnused() {
    return this.held.first === null && this.queue.first === null;
  }
}

module.exports = { EntryList, LockEntry, LockResource, tokenOf };
