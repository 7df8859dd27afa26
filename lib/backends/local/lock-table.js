'use strict';

const { clearTimeout, dateNow, performance, setTimeout } = require('../../time.js');
const { LockEntry, LockResource } = require('./lock-entry.js');
const { TokenCounter } = require('./token-counter.js');
const { lazy } = require('../../lazy.js');

/**
 * The clock with which a lock table measures waits and holds, in milliseconds with fractions.
 * @typedef {object} LocalClock
 * @property {() => number} now
 * @property {(t: number) => number} toWall  milliseconds since 1970
 */

/** @type {LocalClock} of this process */
const LOCAL_CLOCK = {
  now: () => performance.now(),
  toWall: (t) => performance.timeOrigin + t,
};

/** @typedef {import('../../../types/backend.d.ts').LockBackendWatch} LockBackendWatch */
/** @typedef {import('../../../types/backend.d.ts').LockEvent} LockEvent */

/** The maximum number of unread events; older ones are lost. */
const MAX_EVENTS = 4096;

/**
 * One watcher of a table, with its unread events.
 * @implements {LockBackendWatch}
 */
class LocalWatch {
  /** The agent that opened the watch. */
  owner;
  #name;
  #end;
  /** @type {LockEvent[]} oldest first */
  #events = [];
  /** How many events were lost before the oldest unread one. */
  #lost = 0;
  #isClosed = false;
  /** @type {(() => void) | undefined} ends the wait */
  #look = undefined;

  /**
   * @param {object} owner
   * @param {string | undefined} name  undefined: all
   * @param {(watch: LocalWatch) => void} end
   */
  constructor(owner, name, end) {
    this.owner = owner;
    this.#name = name;
    this.#end = end;
  }

  /** @param {LockEvent} event */
  tell(event) {
    if (this.#name !== undefined && this.#name !== event.name) return;
    this.#events.push(event);
    if (this.#events.length > MAX_EVENTS) {
      this.#events.shift();
      this.#lost += 1;
    }
    this.#look?.();
  }

  /** @param {number} max */
  async read(max) {
    while (this.#events.length === 0 && !this.#isClosed) {
      await /** @type {Promise<void>} */ (
        new Promise((look) => {
          this.#look = look;
        })
      );
    }
    const [first, ...others] = this.#events.splice(0, max);
    if (first === undefined) return [];
    const lost = this.#lost;
    this.#lost = 0;
    return [{ ...first, lost }, ...others];
  }

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#events = [];
    this.#end(this);
    this.#look?.();
  }
}

/** The watchers of a table. */
class LocalWatches {
  /** @type {Set<LocalWatch>} */
  #watches = new Set();

  /**
   * @param {object} owner
   * @param {string | undefined} name
   */
  open(owner, name) {
    const watch = new LocalWatch(owner, name, (ended) => this.#watches.delete(ended));
    this.#watches.add(watch);
    return watch;
  }

  /** @param {object} owner */
  closeAllOf(owner) {
    for (const watch of this.#watches) if (watch.owner === owner) watch.close();
  }

  /**
   * @param {LockEvent['type']} type
   * @param {LockEntry} entry
   */
  tell(type, entry) {
    if (this.#watches.size === 0) return;
    const { name, mode, clientId } = entry.info;
    const event = {
      type,
      name,
      mode,
      clientId,
      threadId: entry.agent.threadId,
      token: entry.token,
      time: dateNow(),
      lost: 0,
      requestId: entry.number,
    };
    for (const watch of this.#watches) {
      watch.tell({ ...event, pid: entry.agent.pidFor(watch.owner) });
    }
  }
}

/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */
/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LossReason */

/**
 * The agent to which the table reports later events of its entries.
 * @typedef {object} Agent
 * @property {string} clientId
 * @property {number} threadId
 * @property {string} [thread]  names the thread, where agents of several ones use the table
 * @property {(viewer: Viewer) => number} pidFor  its process id; 0: of no use to the viewer
 * @property {(entry: LockEntry) => void} onGranted  a queued entry now holds the lock
 * @property {(entry: LockEntry, reason: LossReason) => void} onLost  a held entry has lost its lock
 */

/** @typedef {any} Viewer  the agent of this table that is notified */

const walkWaits = lazy(() => require('./wait-walk.js').walkWaits);

/**
 * The standard's algorithms on one table in plain JavaScript. It is the readable reference for
 * tests of the shared-memory table, and the table of the broker. Every step is complete when its
 * method returns, so the thread itself is the "lock task queue".
 */
class LocalLockTable {
  /** @type {Map<string, LockResource>} */
  #resources = new Map();
  /** @type {LockResource | undefined} at most one unused resource stays in the map */
  #lastUnused = undefined;
  #clock;
  #tokens;
  watches = new LocalWatches();

  /**
   * @param {object} [options]
   * @param {LocalClock} [options.clock]
   * @param {TokenCounter} [options.tokens]
   */
  constructor({ clock = LOCAL_CLOCK, tokens = TokenCounter.startingAt(dateNow()) } = {}) {
    this.#clock = clock;
    this.#tokens = tokens;
  }

  /**
   * Standard: Web Locks, "request a lock" (#algorithm-request-lock), the steps on the lock task
   * queue.
   * @param {Agent} agent
   * @param {Request} request
   * @param {number} [requestedAt]  determines its place in the queue
   * @returns {LockEntry | null} held or queued; null when an ifAvailable request was refused
   */
  request(agent, request, requestedAt = undefined) {
    const now = this.#clock.now();
    const resource = this.#resourceOf(request.name);
    const isGrantable = resource.queue.first === null && resource.isGrantable(request);
    if (request.ifAvailable && !isGrantable) return null;
    const entry = new LockEntry(agent, request, resource, requestedAt ?? now);
    if (request.steal) this.#takeFromHolders(resource);
    if (isGrantable || request.steal) this.#grant(entry, now);
    else {
      resource.queue.insert(entry, isEarlier);
      this.watches.tell('queued', entry);
    }
    return entry;
  }

  /**
   * Standard: Web Locks, "release the lock" and "abort the request": both remove the entry and
   * process the queue. Has no effect on an entry that was removed before.
   * @param {LockEntry} entry
   * @param {boolean} [isTimeout]  whether its timeout has passed
   */
  remove(entry, isTimeout = false) {
    if (entry.list === null) return;
    // The hold limit has passed, but the thread was too busy to run the timer.
    if (entry.hold !== undefined && entry.hold.endsAt <= this.#clock.now()) {
      entry.lossReason = 'expired';
    }
    this.watches.tell(endingOf(entry, isTimeout), entry);
    this.#takeOut(entry);
    this.#afterRemoval(entry.resource);
  }

  /**
   * Standard: Web Locks, #agent-integration. Removes all entries before it processes a queue, so
   * that none of them is granted when another one leaves.
   * @param {LockEntry[]} entries  of one agent, each queued or held
   * @param {boolean} [hasDied]  whether the agent died; if not, it closed its lock manager
   */
  removeAll(entries, hasDied = false) {
    for (const entry of entries) {
      this.watches.tell(hasDied ? 'died' : entry.isQueued ? 'aborted' : 'released', entry);
      this.#takeOut(entry);
    }
    for (const entry of entries) this.#afterRemoval(entry.resource);
  }

  /** The number of names in memory: those in use, and at most one more. */
  get size() {
    return this.#resources.size;
  }

  /** Standard: Web Locks, "snapshot the lock state" (#algorithm-snapshot-state). */
  snapshot() {
    return this.#list((entry) => entry.info);
  }

  /**
   * The snapshot with all details.
   * @param {Viewer} viewer
   */
  inspect(viewer) {
    const now = this.#clock.now();
    return this.#list((entry) => entry.detailAt(now, this.#clock, viewer));
  }

  /**
   * @param {LockEntry[]} starts
   * @param {import('../../../types/backend.d.ts').WaitWalkOptions} options
   * @param {Viewer} viewer
   * @param {(agent: Agent) => Iterable<LockEntry>} [entriesOf]  the thread of an agent
   */
  waitsOf(starts, options, viewer, entriesOf = () => this.#entries()) {
    const queued = starts.filter((entry) => entry?.isQueued);
    const describe = (/** @type {LockEntry} */ entry) =>
      entry.detailAt(this.#clock.now(), this.#clock, viewer);
    return walkWaits()(queued, entriesOf, describe, options);
  }

  /**
   * @param {string} name
   * @param {number} max
   * @param {Viewer} viewer
   */
  holdersOf(name, max, viewer) {
    const held = [];
    for (const entry of this.#resources.get(name)?.held ?? []) {
      if (held.length === max) break;
      held.push(entry);
    }
    return held.map((entry) => entry.detailAt(this.#clock.now(), this.#clock, viewer));
  }

  /**
   * @param {string} name
   * @param {number} min
   */
  isLocked(name, min) {
    const held = this.#resources.get(name)?.held;
    return held !== undefined && (held.size >= min || held.first?.request.mode === 'exclusive');
  }

  /**
   * Adds a request from a saved state without reporting it. It is pending until restoreGrant().
   * @param {Agent} agent
   * @param {Request} request
   * @param {number} requestedAt
   */
  restore(agent, request, requestedAt) {
    const resource = this.#resourceOf(request.name);
    const entry = new LockEntry(agent, request, resource, requestedAt);
    resource.queue.insert(entry, isEarlier);
    return entry;
  }

  /**
   * @param {LockEntry} entry  restored, with its token
   * @param {number} grantedAt
   */
  restoreGrant(entry, grantedAt) {
    entry.list?.remove(entry);
    entry.grantedAt = grantedAt;
    entry.resource.held.insert(entry, isGrantedEarlier);
  }

  /**
   * The oldest of the held locks, as many as keep this one out.
   * @param {LockEntry} entry  restored, and to be granted
   * @returns {LockEntry[]}
   */
  inTheWayOf({ resource, request }) {
    const held = [...resource.held];
    return held.slice(0, held.length - resource.compatibleHolders(request));
  }

  /** @param {LockEntry} entry  restored, has ended since */
  drop(entry) {
    this.#takeOut(entry);
    if (entry.resource.isUnused) this.#retire(entry.resource);
  }

  /** Starts the hold limits of restored locks; they count from the original grants. */
  startHoldLimits() {
    for (const { held } of this.#resources.values()) {
      for (const entry of held) this.#limitHold(entry);
    }
  }

  /** Grants every restored request that is grantable. */
  processAll() {
    for (const resource of [...this.#resources.values()]) this.#afterRemoval(resource);
  }

  /**
   * @template T
   * @param {(entry: LockEntry) => T} describe
   * @returns {{ held: T[], pending: T[] }}
   */
  #list(describe) {
    /** @type {T[]} */
    const held = [];
    /** @type {T[]} */
    const pending = [];
    for (const resource of this.#resources.values()) {
      for (const entry of resource.held) held.push(describe(entry));
      for (const entry of resource.queue) pending.push(describe(entry));
    }
    return { held, pending };
  }

  *#entries() {
    for (const { held, queue } of this.#resources.values()) {
      yield* held;
      yield* queue;
    }
  }

  /** @param {LockResource} resource */
  #afterRemoval(resource) {
    this.#processQueue(resource);
    if (resource.isUnused) this.#retire(resource);
  }

  /**
   * Removes unused names, except the last one: otherwise a name that is locked repeatedly would
   * cost a new map entry each time (a third of an uncontended request).
   * @param {LockResource} resource  unused
   */
  #retire(resource) {
    const previous = this.#lastUnused;
    if (previous === resource) return;
    this.#lastUnused = resource;
    if (previous === undefined || !previous.isUnused) return;
    // Forgotten before, it may have a successor that is in use.
    if (this.#resources.get(previous.name) === previous) this.#resources.delete(previous.name);
  }

  /** @param {string} name */
  #resourceOf(name) {
    let resource = this.#resources.get(name);
    if (resource === undefined) {
      resource = new LockResource(name);
      this.#resources.set(name, resource);
    }
    return resource;
  }

  /** @param {LockResource} resource */
  #takeFromHolders(resource) {
    for (let entry = resource.held.first; entry !== null; entry = resource.held.first) {
      this.#lose(entry, 'stolen');
    }
  }

  /**
   * @param {LockEntry} entry  held
   * @param {LossReason} reason
   */
  #lose(entry, reason) {
    this.#takeOut(entry);
    entry.lossReason = reason;
    this.watches.tell(reason === 'stolen' ? 'stolen' : 'expired', entry);
    entry.agent.onLost(entry, reason);
  }

  /** @param {LockEntry} entry  queued or held */
  #takeOut(entry) {
    entry.list?.remove(entry);
    if (entry.hold !== undefined) clearTimeout(entry.hold.timer);
  }

  /**
   * @param {LockEntry} entry  in no list
   * @param {number} now
   */
  #grant(entry, now) {
    this.#tokens.stamp(entry.request);
    entry.resource.held.append(entry);
    entry.grantedAt = now;
    this.watches.tell('granted', entry);
    if (entry.request.extras !== undefined) this.#limitHold(entry);
  }

  /** @param {LockEntry} entry  granted */
  #limitHold(entry) {
    const holdLimit = entry.request.extras?.holdLimit ?? 0;
    if (holdLimit === 0) return;
    const endsAt = entry.grantedAt + holdLimit;
    const timer = setTimeout(() => this.#expire(entry), Math.max(0, endsAt - this.#clock.now()));
    timer.unref(); // a request that waits for the lock keeps the event loop alive
    entry.hold = { endsAt, timer };
  }

  /** @param {LockEntry} entry  held */
  #expire(entry) {
    this.#lose(entry, 'expired');
    this.#afterRemoval(entry.resource);
  }

  /**
   * Standard: Web Locks, "process the lock request queue" (#algorithm-process-request). The queue
   * is strict: the first request that is not grantable blocks those behind it.
   * @param {LockResource} resource
   */
  #processQueue(resource) {
    let entry = resource.queue.first;
    while (entry !== null && resource.isGrantable(entry.request)) {
      resource.queue.remove(entry);
      this.#grant(entry, this.#clock.now());
      entry.agent.onGranted(entry);
      entry = resource.queue.first;
    }
  }
}

/**
 * @param {LockEntry} entry  that is about to be removed
 * @param {boolean} isTimeout
 */
function endingOf(entry, isTimeout) {
  if (entry.isQueued) return isTimeout ? 'timedout' : 'aborted';
  return entry.lossReason === 'expired' ? 'expired' : 'released';
}

/**
 * @param {LockEntry} a
 * @param {LockEntry} b
 */
const isEarlier = (a, b) => a.requestedAt < b.requestedAt;

/**
 * @param {LockEntry} a
 * @param {LockEntry} b
 */
const isGrantedEarlier = (a, b) => a.grantedAt < b.grantedAt;

module.exports = { LocalLockTable };
