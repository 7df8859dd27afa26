'use strict';

const { isGrantable } = require('../grantable.js');
const { eachOf } = require('../../sliced.js');
const { clearTimeout, dateNow, performance, setTimeout } = require('../../time.js');
const { QueuedWatch } = require('../queued-watch.js');
const {
  DEFAULT_PRIORITY,
  PRIORITY_RANK,
  TASK_PRIORITIES,
  priorityOfRank,
} = require('../../task-priority.js');
const { TokenCounter } = require('./token-counter.js');

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
   * Entries usually arrive in order, so the search begins at the end.
   * @param {E} entry  in no list
   * @param {(a: E, b: E) => boolean} isBefore
   * @returns {E | null} the entry before which it belongs; null: it belongs to the end
   */
  nextOf(entry, isBefore) {
    let next = null;
    for (let last = this.#last; last !== null && isBefore(entry, last); last = last.previous) {
      next = last;
    }
    return next;
  }

  /**
   * @param {E} entry  in no list
   * @param {E | null} next  null: to the end
   */
  insertBefore(entry, next) {
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

/** The highest order of a queued entry so far. */
let lastOrder = 0;

/** @typedef {import('../../task-priority.js').TaskPriority} TaskPriority */

const HIGHEST_RANK = PRIORITY_RANK[TASK_PRIORITIES[0]];

/** A request that so many younger ones with a higher priority have passed is passed by no other. */
const MAX_OVERTAKES = 16;

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
  /** The rank of its priority. */
  rank;
  /** Queues are in this order. */
  order = 0;
  /** How many younger requests have passed it in the queue. */
  overtakes = 0;
  /** Measured by the clock of the table, like the times below. */
  requestedAt;
  grantedAt = 0;
  /** @type {{ endsAt: number, timer: NodeJS.Timeout } | undefined} of a lock with a hold limit */
  hold = undefined;

  /**
   * @param {Agent} agent
   * @param {Request} request
   * @param {LockResource} resource
   * @param {number} requestedAt
   */
  constructor(agent, request, resource, requestedAt) {
    this.requestedAt = requestedAt;
    this.agent = agent;
    this.request = request;
    this.requestId = request.backendId;
    this.resource = resource;
    this.rank = PRIORITY_RANK[request.extras?.priority ?? DEFAULT_PRIORITY];
  }

  get isQueued() {
    return this.list === this.resource.queue;
  }

  get isHeld() {
    return this.list === this.resource.held;
  }

  /** Whether its hold limit has passed. @param {number} now */
  isOverdueAt(now) {
    return this.hold !== undefined && this.hold.endsAt <= now;
  }

  get priority() {
    return priorityOfRank(this.rank);
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
   * The details of a moment that may be past.
   * @param {object} moment
   * @param {number} moment.now
   * @param {LocalClock} moment.clock
   * @param {Viewer} moment.viewer
   * @param {boolean} isHeld  at that moment; if not, it waited
   * @returns {LockDetail}
   */
  detailAt({ now, clock, viewer }, isHeld) {
    const { requestedAt, grantedAt, agent, request } = this;
    const { extras, mode, name } = request;
    return {
      clientId: agent.clientId,
      mode,
      name,
      pid: agent.pidFor(viewer),
      threadId: agent.threadId,
      token: isHeld ? tokenOf(request) : null,
      label: extras?.label ?? '',
      callSite: extras?.callSite ?? '',
      priority: this.priority,
      overtakes: isHeld ? 0 : this.overtakes,
      limit: extras?.limit ?? 0,
      holdLimit: extras?.holdLimit ?? 0,
      since: clock.toWall(requestedAt),
      waited: (isHeld ? grantedAt : now) - requestedAt,
      held: isHeld ? now - grantedAt : null,
      requestId: this.requestId,
      enclosingToken: extras?.enclosing === undefined ? null : tokenOf(extras.enclosing),
    };
  }
}

/**
 * The most requests that may wait, this one included.
 * @param {Request} request
 */
const maxPendingOf = ({ ifAvailable, extras }) =>
  ifAvailable ? 0 : (extras?.maxPending ?? Infinity);

/** One resource name: its part of the held lock set and of the lock request queue. */
class LockResource {
  /** @type {EntryList<LockEntry>} */
  held = new EntryList();
  /** @type {EntryList<LockEntry>} */
  queue = new EntryList();
  /** @type {Set<LockEntry> | undefined} holders to notify when `waiting` changes */
  contentionWatchers = undefined;
  /** @type {TaskPriority | null} the highest priority that waits, as the watchers know it */
  waiting = null;
  /** Before this time no hold limit of a holder passes. */
  nextExpiry = Infinity;

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

  /**
   * The highest priority that waits. Usually the first request has it, but a request that was
   * passed often may be before it.
   * @param {number} most  no request that waits has a higher rank
   */
  highestWaiting(most) {
    let highest = this.queue.first;
    for (const entry of this.queue) {
      if (entry.rank > /** @type {LockEntry} */ (highest).rank) highest = entry;
      if (entry.rank === most) break;
    }
    return highest === null ? null : highest.priority;
  }

  get isUnused() {
    return this.held.first === null && this.queue.first === null;
  }

  /**
   * The waiting request before which a further one belongs; null: it belongs to the end. This and
   * pass() are the order of a queue: by priority, then by age, with a bound (docs/api.md).
   * @param {LockEntry} entry
   */
  nextOf(entry) {
    return this.queue.nextOf(entry, mayPass);
  }

  /**
   * A new entry goes before `next`, and so passes all from there on.
   * @param {LockEntry} entry
   * @param {LockEntry | null} next  null: it passes none
   */
  pass(entry, next) {
    for (let passed = next; passed !== null; passed = passed.next) countPass(entry, passed);
    this.#renumber(entry, next);
  }

  /**
   * @param {LockEntry} entry
   * @param {LockEntry | null} next  that it goes before
   */
  #renumber(entry, next) {
    entry.order = ++lastOrder;
    for (let passed = next; passed !== null; passed = passed.next) passed.order = ++lastOrder;
  }

  /**
   * It has a higher priority than before, and passes those directly before it.
   * @param {LockEntry} entry  queued
   */
  raise(entry) {
    let next = entry;
    while (next.previous !== null && mayPass(entry, next.previous)) {
      next = /** @type {LockEntry} */ (next.previous);
      countPass(entry, next);
    }
    if (next !== entry) this.#moveBefore(entry, next);
  }

  /**
   * It has a lower priority than before, and lets those directly behind it pass.
   * @param {LockEntry} entry  queued
   */
  lower(entry) {
    let { next } = entry;
    while (next !== null && goesFirst(next, entry)) ({ next } = next);
    if (next !== entry.next) this.#moveBefore(entry, next);
  }

  /**
   * @param {LockEntry} entry  queued
   * @param {LockEntry | null} next  null: to the end
   */
  #moveBefore(entry, next) {
    this.queue.remove(entry);
    this.#renumber(entry, next);
    this.queue.insertBefore(entry, next);
    for (let passed = entry.next; passed !== null; passed = passed.next) notePass(passed);
  }

  /** @param {LockEntry} entry  in no list */
  enqueue(entry) {
    const next = this.nextOf(entry);
    this.pass(entry, next);
    this.queue.insertBefore(entry, next);
    for (let passed = next; passed !== null; passed = passed.next) notePass(passed);
  }
}

/** @typedef {import('../../../types/backend.d.ts').WaitWalk} WaitWalk */
/** @typedef {import('../../../types/backend.d.ts').WaitWalkOptions} WaitWalkOptions */

/** The bits of the enclosing lock's token; above them is the option `deadlock`. */
const TOKEN_BITS = 62;

/**
 * @param {LockEntry} entry
 * @returns {bigint | undefined} of the lock in whose callback it was made; undefined: in none
 */
function enclosingTokenOf({ request: { extras } }) {
  if (extras?.enclosing === undefined) return undefined;
  return BigInt.asUintN(TOKEN_BITS, tokenOf(extras.enclosing));
}

/** @param {LockEntry} a  @param {LockEntry} b */
const byAge = (a, b) => a.requestedAt - b.requestedAt || a.number - b.number;

/**
 * By age, and each queue in its order.
 * @param {Iterable<LockEntry>} entries
 */
function inOrder(entries) {
  const sorted = [...entries].sort(byAge);
  /** @type {Map<LockResource, number[]>} the indices of the entries of each queue */
  const queues = new Map();
  for (const [i, entry] of sorted.entries()) {
    if (!entry.isQueued) continue;
    const indices = queues.get(entry.resource);
    if (indices === undefined) queues.set(entry.resource, [i]);
    else indices.push(i);
  }
  for (const indices of queues.values()) {
    const queue = indices.map((i) => sorted[i]).sort((a, b) => a.order - b.order);
    for (const [k, i] of indices.entries()) sorted[i] = queue[k];
  }
  return sorted;
}

/** @param {LockEntry} a  @param {LockEntry} b */
const isOlder = (a, b) => byAge(a, b) < 0;

/**
 * @param {LockEntry} a
 * @param {LockEntry} b
 */
const goesFirst = (a, b) => a.rank > b.rank || (a.rank === b.rank && isOlder(a, b));

/** @param {LockEntry} passed */
const notePass = (passed) => passed.agent.onPassed?.(passed);

/**
 * @param {LockEntry} entry
 * @param {LockEntry} passed
 */
function countPass(entry, passed) {
  if (passed.rank < entry.rank && !isOlder(entry, passed)) passed.overtakes += 1;
}

/**
 * Whether a request may go before another, which waits.
 * @param {LockEntry} entry
 * @param {LockEntry} waiting
 */
function mayPass(entry, waiting) {
  if (entry.rank === waiting.rank) return isOlder(entry, waiting);
  return (
    entry.rank > waiting.rank && (waiting.overtakes < MAX_OVERTAKES || isOlder(entry, waiting))
  );
}

/**
 * @param {Iterable<LockEntry>} entries  of one thread
 * @returns {Map<bigint, LockEntry[]>} those made inside callbacks, by the token of the enclosing
 *   lock
 */
function groupByEnclosing(entries) {
  /** @type {Map<bigint, LockEntry[]>} */
  const groups = new Map();
  for (const entry of entries) {
    const token = enclosingTokenOf(entry);
    if (token === undefined || entry.list === null) continue;
    const siblings = groups.get(token);
    if (siblings === undefined) groups.set(token, [entry]);
    else siblings.push(entry);
  }
  return groups;
}

/**
 * Goes from a waiting request to the holders of its name, and from a holder to the requests that
 * its thread made inside its callback.
 * @param {Iterable<LockEntry>} starts
 * @param {(agent: Agent) => Iterable<LockEntry>} entriesOf  the thread of an agent
 * @param {WaitWalkOptions} options
 * @returns {Set<LockEntry>}
 */
function reachableFrom(starts, entriesOf, { withQueues }) {
  const found = new Set(starts);
  /** @type {Set<LockResource>} */
  const names = new Set();
  /** @type {Map<string | undefined, Map<bigint, LockEntry[]>>} */
  const threads = new Map();

  /** @param {Iterable<LockEntry>} entries */
  const addAll = (entries) => {
    for (const entry of entries) found.add(entry);
  };
  /** @param {LockEntry} holder */
  const addInside = ({ agent, hold, token }) => {
    if (hold !== undefined) return; // it ends even if it waits
    let inside = threads.get(agent.thread);
    if (inside === undefined) {
      inside = groupByEnclosing(entriesOf(agent));
      threads.set(agent.thread, inside);
    }
    addAll(inside.get(/** @type {bigint} */ (token)) ?? []);
  };
  /** @param {LockResource} resource */
  const addName = (resource) => {
    if (names.has(resource)) return;
    names.add(resource);
    addAll(resource.held);
    if (withQueues) addAll(resource.queue);
  };

  // The set grows meanwhile, and what is added to it comes, too.
  for (const entry of found) {
    if (entry.isHeld) addInside(entry);
    else addName(entry.resource);
  }
  return found;
}

/**
 * Requests of one moment, in two lists.
 * @template T
 * @typedef {{ held: Iterable<T>, pending: Iterable<T> }} Lists  each is read once
 */

/**
 * Lists the requests of this moment. Each item is made when it is read, and shows this moment. All
 * that an item needs stays as it is, except for the list in which the request stands.
 * @template T
 * @param {Iterable<LockEntry>} entries  others than queued and held ones are left out
 * @param {(entry: LockEntry, isHeld: boolean) => T} describe
 * @returns {Lists<T>}
 */
function listMoment(entries, describe) {
  /** @type {LockEntry[]} */
  const held = [];
  /** @type {LockEntry[]} */
  const pending = [];
  for (const entry of entries) {
    if (entry.isHeld) held.push(entry);
    else if (entry.isQueued) pending.push(entry);
  }
  return {
    held: map(held, (entry) => describe(entry, true)),
    pending: map(pending, (entry) => describe(entry, false)),
  };
}

/**
 * @template T
 * @template U
 * @param {Iterable<T>} items
 * @param {(item: T) => U} toValue
 * @returns {Generator<U, void, void>}
 */
function* map(items, toValue) {
  for (const item of items) yield toValue(item);
}

/**
 * Reads both lists, in short steps.
 * @template T
 * @template {Lists<T>} L
 * @param {L & Lists<T>} lists
 * @returns {Generator<void, Omit<L, 'held' | 'pending'> & { held: T[], pending: T[] }, void>}
 */
function* readLists(lists) {
  /** @type {T[]} */
  const held = [];
  /** @type {T[]} */
  const pending = [];
  yield* eachOf(lists.held, (item) => void held.push(item));
  yield* eachOf(lists.pending, (item) => void pending.push(item));
  return { ...lists, held, pending };
}

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

/** @typedef {import('../../../types/backend.d.ts').LockEvent} LockEvent */

/** One watcher of a table. */
class LocalWatch extends QueuedWatch {
  /** The agent that opened the watch. */
  owner;
  #name;

  /**
   * @param {object} owner
   * @param {string | undefined} name  undefined: all
   * @param {() => void} end
   */
  constructor(owner, name, end) {
    super(end);
    this.owner = owner;
    this.#name = name;
  }

  /** @param {LockEvent} event */
  emit(event) {
    if (this.#name === undefined || this.#name === event.name) this.take([event]);
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
    /** @type {LocalWatch} */
    const watch = new LocalWatch(owner, name, () => this.#watches.delete(watch));
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
  emit(type, entry) {
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
      priority: entry.priority,
      overtakes: entry.overtakes,
      requestId: entry.requestId,
    };
    for (const watch of this.#watches) {
      watch.emit({ ...event, pid: entry.agent.pidFor(watch.owner) });
    }
  }
}

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
 * @property {(entry: LockEntry, priority: TaskPriority | null) => void} onContentionChanged  of a
 *   held entry: the highest priority of the requests that wait for its lock has changed
 * @property {(entry: LockEntry) => void} [onPassed]  others may stand before a queued entry now
 */

/** @typedef {any} Viewer  the agent of this table that is notified */

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
   * @returns {LockEntry | null} held or queued; null when it would have to wait and may not
   */
  request(agent, request, requestedAt = undefined) {
    const now = this.#clock.now();
    const resource = this.#resourceOf(request.name);
    if (resource.nextExpiry <= now) this.#expireDue(resource, now);
    const entry = new LockEntry(agent, request, resource, requestedAt ?? now);
    const { first } = resource.queue;
    const isFree =
      resource.isGrantable(request) && (first === null || resource.nextOf(entry) === first);
    if (!isFree && !request.steal && resource.queue.size >= maxPendingOf(request)) return null;
    if (request.steal) this.#takeFromHolders(resource);
    else if (isFree) resource.pass(entry, first);
    if (isFree || request.steal) this.#grant(entry, now);
    else {
      resource.enqueue(entry);
      this.watches.emit('queued', entry);
      if (resource.contentionWatchers !== undefined) this.#reportContention(resource, entry.rank);
    }
    return entry;
  }

  /**
   * Moves a waiting request to the position of its new priority.
   * @param {LockEntry} entry
   * @param {TaskPriority} priority
   */
  changePriority(entry, priority) {
    this.move(entry, priority);
    this.process(entry);
  }

  /**
   * The same, without grants.
   * @param {LockEntry} entry
   * @param {TaskPriority} priority
   */
  move(entry, priority) {
    const rank = PRIORITY_RANK[priority];
    const isRaised = rank > entry.rank;
    if (entry.rank === rank) return;
    entry.rank = rank;
    if (!entry.isQueued) return;
    if (isRaised) entry.resource.raise(entry);
    else entry.resource.lower(entry);
    if (entry.resource.contentionWatchers !== undefined) {
      this.#reportContention(entry.resource, rank);
    }
  }

  /** Grants what has become grantable. @param {LockEntry} entry  that was moved */
  process(entry) {
    this.#processQueue(entry.resource);
  }

  /**
   * The agent is notified from now on when the result changes.
   * @param {LockEntry} entry
   * @returns {TaskPriority | null} the highest priority of the requests that wait for its lock
   */
  watchContention(entry) {
    const { resource } = entry;
    if (!entry.isHeld) return null;
    if (resource.contentionWatchers === undefined) {
      resource.contentionWatchers = new Set();
      resource.waiting = resource.highestWaiting(HIGHEST_RANK);
    }
    resource.contentionWatchers.add(entry);
    return resource.waiting;
  }

  /**
   * @param {LockResource} resource  with watchers
   * @param {number} [rank]  of a request that waits since the last call, or with that rank
   */
  #reportContention(resource, rank = -1) {
    const last = resource.waiting === null ? -1 : PRIORITY_RANK[resource.waiting];
    const waiting = resource.highestWaiting(Math.max(last, rank));
    if (waiting === resource.waiting) return;
    resource.waiting = waiting;
    for (const entry of resource.contentionWatchers ?? []) {
      entry.agent.onContentionChanged(entry, waiting);
    }
  }

  /**
   * Ends a hold whose limit has passed, if the thread was too busy to run its timer.
   * @param {LockEntry} entry
   */
  expireIfDue(entry) {
    if (entry.isHeld && entry.isOverdueAt(this.#clock.now())) this.#expire(entry);
  }

  /**
   * The same for all holders of a name, before a request or a reader finds them.
   * @param {LockResource} resource
   * @param {number} [now]
   */
  #expireDue(resource, now = this.#clock.now()) {
    if (resource.nextExpiry > now) return;
    resource.nextExpiry = Infinity;
    for (const entry of [...resource.held]) {
      if (entry.isOverdueAt(now)) this.#expire(entry);
      else if (entry.hold !== undefined) noteExpiry(entry, entry.hold.endsAt);
    }
  }

  /**
   * Standard: Web Locks, "release the lock" and "abort the request": both remove the entry and
   * process the queue. Has no effect on an entry that was removed before.
   * @param {LockEntry} entry
   * @param {boolean} [isTimeout]  whether its timeout has passed
   */
  remove(entry, isTimeout = false) {
    if (entry.list === null) return;
    // The thread was too busy to run the timer.
    if (entry.isOverdueAt(this.#clock.now())) entry.lossReason = 'expired';
    this.watches.emit(endingOf(entry, isTimeout), entry);
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
      this.watches.emit(hasDied ? 'died' : entry.isQueued ? 'aborted' : 'released', entry);
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
    this.#expireAllDue();
    return listMoment(this.#entries(), (entry) => entry.info);
  }

  /**
   * The snapshot with all details.
   * @param {Viewer} viewer
   */
  inspect(viewer) {
    this.#expireAllDue();
    return listMoment(this.#entries(), this.#describer(viewer));
  }

  /**
   * Lists the requests that can be reached from some requests: one step, a walk over links.
   * @param {LockEntry[]} starts
   * @param {WaitWalkOptions} options
   * @param {Viewer} viewer
   * @param {(agent: Agent) => Iterable<LockEntry>} [entriesOf]  the thread of an agent
   */
  waitsOf(starts, options, viewer, entriesOf = () => this.#entries()) {
    const queued = starts.filter((entry) => entry?.isQueued);
    const found = inOrder(reachableFrom(queued, entriesOf, options));
    return { ...listMoment(found, this.#describer(viewer)), isOneMoment: true };
  }

  /**
   * @param {string} name
   * @param {number} max
   * @param {Viewer} viewer
   */
  holdersOf(name, max, viewer) {
    const describe = this.#describer(viewer);
    const details = [];
    for (const entry of this.#readableResource(name)?.held ?? []) {
      if (details.length === max) break;
      details.push(describe(entry, true));
    }
    return details;
  }

  /**
   * @param {Viewer} viewer
   * @returns {(entry: LockEntry, isHeld: boolean) => LockDetail} of this moment
   */
  #describer(viewer) {
    const moment = { now: this.#clock.now(), clock: this.#clock, viewer };
    return (entry, isHeld) => entry.detailAt(moment, isHeld);
  }

  /**
   * @param {string} name
   * @param {number} min
   */
  isLocked(name, min) {
    const held = this.#readableResource(name)?.held;
    return held !== undefined && (held.size >= min || held.first?.request.mode === 'exclusive');
  }

  /**
   * Adds a request from a saved state without reporting it. It is pending until restoreGrant().
   * @param {Agent} agent
   * @param {Request} request
   * @param {number} requestedAt
   * @param {{ order: number, overtakes: number }} [position]  in the saved state; undefined: it was
   *   made since then
   */
  restore(agent, request, requestedAt, position = undefined) {
    const resource = this.#resourceOf(request.name);
    const entry = new LockEntry(agent, request, resource, requestedAt);
    if (request.steal)
      resource.queue.insertBefore(entry, null); // its grant follows
    else if (position === undefined) resource.enqueue(entry);
    else {
      Object.assign(entry, position);
      lastOrder = Math.max(lastOrder, position.order);
      resource.queue.insertBefore(entry, resource.queue.nextOf(entry, isOrderedBefore));
    }
    return entry;
  }

  /**
   * @param {LockEntry} entry  restored, with its token
   * @param {number} grantedAt
   */
  restoreGrant(entry, grantedAt) {
    entry.list?.remove(entry);
    entry.grantedAt = grantedAt;
    const { held } = entry.resource;
    held.insertBefore(entry, held.nextOf(entry, isGrantedEarlier));
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
  *startHoldLimits() {
    // A limit that has passed may end a lock, and grant the next, between two steps.
    yield* eachOf([...this.#entries()], (entry) => {
      if (entry.isHeld && entry.hold === undefined) this.#limitHold(entry);
    });
  }

  /** Grants every restored request that is grantable. */
  *processAll() {
    yield* eachOf(this.#resources.values(), (resource) => this.#afterRemoval(resource));
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
   * Removes unused names, except the last one. Otherwise a name that is locked repeatedly would
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

  /**
   * Without holders whose limit has passed.
   * @param {string} name
   */
  #readableResource(name) {
    const resource = this.#resources.get(name);
    if (resource !== undefined) this.#expireDue(resource);
    return resource;
  }

  #expireAllDue() {
    const now = this.#clock.now();
    for (const resource of this.#resources.values()) this.#expireDue(resource, now);
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
    this.watches.emit(reason === 'stolen' ? 'stolen' : 'expired', entry);
    entry.agent.onLost(entry, reason);
  }

  /** @param {LockEntry} entry  queued or held */
  #takeOut(entry) {
    const { resource } = entry;
    entry.list?.remove(entry);
    if (resource.contentionWatchers?.delete(entry) && resource.contentionWatchers.size === 0) {
      resource.contentionWatchers = undefined;
    }
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
    this.watches.emit('granted', entry);
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
    noteExpiry(entry, endsAt);
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
    if (resource.contentionWatchers !== undefined) this.#reportContention(resource);
  }
}

/**
 * @param {LockEntry} entry  held
 * @param {number} endsAt  by its hold limit
 */
function noteExpiry({ resource }, endsAt) {
  resource.nextExpiry = Math.min(resource.nextExpiry, endsAt);
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
const isOrderedBefore = (a, b) => a.order < b.order;

/**
 * @param {LockEntry} a
 * @param {LockEntry} b
 */
const isGrantedEarlier = (a, b) => a.grantedAt < b.grantedAt;

module.exports = { EntryList, LockEntry, LockResource, LocalLockTable, map, readLists, tokenOf };
