'use strict';

const { EntryList } = require('./entry-list.js');
const { TokenCounter } = require('./token-counter.js');

/** @typedef {import('../../types/backend.d.ts').LockBackendRequest} Request */
/** @typedef {import('../../types/locks.d.ts').LockInfo} LockInfo */

/**
 * Where the table reports what it decided beyond the answer to the caller.
 * @typedef {object} Agent
 * @property {string} clientId
 * @property {(entry: LockEntry) => void} onGranted  the entry was queued and holds the lock now
 * @property {(entry: LockEntry) => void} onStolen  the entry held the lock and does not any more
 */

/**
 * A request as the table sees it: in its resource's queue, or among its holders, or (afterwards) in
 * neither.
 */
class LockEntry {
  /** @type {EntryList<LockEntry> | null} */
  list = null;
  /** @type {LockEntry | null} */
  previous = null;
  /** @type {LockEntry | null} */
  next = null;
  /**
   * @type {import('../../types/backend.d.ts').LockLossReason | undefined} why the lock was taken
   *   away
   */
  lossReason = undefined;
  /** Whether the lock was granted from the queue and the request has still to be told. */
  isGrantOnItsWay = false;

  /**
   * @param {Agent} agent
   * @param {Request} request
   * @param {Resource} resource
   */
  constructor(agent, request, resource) {
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
}

/** Everything of one name: its part of the held lock set and of the lock request queue. */
class Resource {
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
   * held.
   * @param {import('../../types/locks.d.ts').LockMode} mode  of a request that is first in the
   *   queue
   */
  isGrantable(mode) {
    const holder = this.held.first;
    return holder === null || (mode === 'shared' && holder.request.mode === 'shared');
  }

  get isUnused() {
    return this.held.first === null && this.queue.first === null;
  }
}

/**
 * The standard's algorithms on one table in plain JavaScript: the readable reference that the
 * shared-memory table is tested against. Every step is complete when its method returns, so the
 * "lock task queue" is the thread itself.
 */
class LocalLockTable {
  /** @type {Map<string, Resource>} */
  #resources = new Map();
  /** @type {Resource | undefined} one that may still be in the map without being used */
  #lastUnused = undefined;
  #tokens = TokenCounter.startingAt(Date.now());

  /**
   * Standard: Web Locks, "request a lock" (#algorithm-request-lock), the steps on the lock task
   * queue.
   * @param {Agent} agent
   * @param {Request} request
   * @returns {LockEntry | null} held or queued; null when an ifAvailable request was refused
   */
  request(agent, request) {
    const resource = this.#resourceOf(request.name);
    const isGrantable = resource.queue.first === null && resource.isGrantable(request.mode);
    if (request.ifAvailable && !isGrantable) return null;
    const entry = new LockEntry(agent, request, resource);
    if (request.steal) this.#takeFromHolders(resource);
    if (isGrantable || request.steal) this.#grant(entry);
    else resource.queue.append(entry);
    return entry;
  }

  /**
   * Standard: Web Locks, "release the lock" and "abort the request": both take the entry out and
   * process the queue. No effect on an entry that is out already.
   * @param {LockEntry} entry
   */
  remove(entry) {
    if (entry.list === null) return;
    entry.list.remove(entry);
    this.#afterRemoval(entry.resource);
  }

  /**
   * Standard: Web Locks, #agent-integration. All are out before a queue is processed, so that none
   * of them is granted in the place of another.
   * @param {LockEntry[]} entries  of one agent, each queued or held
   */
  removeAll(entries) {
    for (const entry of entries) entry.list?.remove(entry);
    for (const entry of entries) this.#afterRemoval(entry.resource);
  }

  /** How many names take room: those in use, and one more at most. */
  get size() {
    return this.#resources.size;
  }

  /**
   * Standard: Web Locks, "snapshot the lock state" (#algorithm-snapshot-state).
   * @returns {{ held: LockInfo[], pending: LockInfo[] }}
   */
  snapshot() {
    /** @type {LockInfo[]} */
    const held = [];
    /** @type {LockInfo[]} */
    const pending = [];
    for (const resource of this.#resources.values()) {
      for (const entry of resource.held) held.push(entry.info);
      for (const entry of resource.queue) pending.push(entry.info);
    }
    return { held, pending };
  }

  /** @param {Resource} resource */
  #afterRemoval(resource) {
    this.#processQueue(resource);
    if (resource.isUnused) this.#retire(resource);
  }

  /**
   * Forgets unused names, all but the last one: a name that is locked again and again would cost an
   * entry of the map each time (a third of an uncontended request).
   * @param {Resource} resource  unused
   */
  #retire(resource) {
    const previous = this.#lastUnused;
    if (previous === resource) return;
    this.#lastUnused = resource;
    if (previous?.isUnused) this.#resources.delete(previous.name);
  }

  /** @param {string} name */
  #resourceOf(name) {
    let resource = this.#resources.get(name);
    if (resource === undefined) {
      resource = new Resource(name);
      this.#resources.set(name, resource);
    }
    return resource;
  }

  /** @param {Resource} resource */
  #takeFromHolders(resource) {
    for (let entry = resource.held.first; entry !== null; entry = resource.held.first) {
      resource.held.remove(entry);
      entry.agent.onStolen(entry);
    }
  }

  /** @param {LockEntry} entry  in no list */
  #grant(entry) {
    this.#tokens.stamp(entry.request);
    entry.resource.held.append(entry);
  }

  /**
   * Standard: Web Locks, "process the lock request queue" (#algorithm-process-request). What
   * follows a request that is not grantable is not grantable either: it has an earlier exclusive
   * one before it.
   * @param {Resource} resource
   */
  #processQueue(resource) {
    let entry = resource.queue.first;
    while (entry !== null && resource.isGrantable(entry.request.mode)) {
      resource.queue.remove(entry);
      this.#grant(entry);
      entry.agent.onGranted(entry);
      entry = resource.queue.first;
    }
  }
}

module.exports = { LocalLockTable };
