'use strict';

/** @typedef {import('./entry-list.js').EntryList<LockEntry>} List */
/** @typedef {import('./lock-resource.js').LockResource} LockResource */
/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */
/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */
/** @typedef {import('../../../types/locks.d.ts').LockInfo} LockInfo */

/** @param {{ tokenHigh: number, tokenLow: number }} request  granted, or what encloses one */
const tokenOf = ({ tokenHigh, tokenLow }) => (BigInt(tokenHigh) << 32n) | BigInt(tokenLow);

/** Of the newest entry. */
let lastNumber = 0;

/**
 * A request as the table sees it: in its resource's queue, or among its holders, or (afterwards) in
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
  /** Whether the lock was granted from the queue and the request has still to be told. */
  isGrantOnItsWay = false;
  /** Tells the requests of this thread apart. */
  number = ++lastNumber;
  /** By the clock of the table, as what follows. */
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
   * @param {import('./local-clock.js').LocalClock} clock
   * @returns {LockDetail}
   */
  detailAt(now, clock) {
    const { extras } = this.request;
    const { isHeld, requestedAt, grantedAt } = this;
    return {
      ...this.info,
      pid: this.agent.pid,
      threadId: this.agent.threadId,
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

module.exports = { LockEntry };
