'use strict';

const { eachOf, runSliced } = require('../../sliced.js');
const { tokenOf } = require('./lock-entry.js');

/** @typedef {import('./lock-entry.js').LockEntry} LockEntry */
/** @typedef {import('./lock-entry.js').LockResource} LockResource */
/** @typedef {import('./lock-table.js').Agent} Agent */
/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */
/** @typedef {import('../../../types/backend.d.ts').WaitWalk} WaitWalk */
/** @typedef {import('../../../types/backend.d.ts').WaitWalkOptions} WaitWalkOptions */

/** What names the enclosing lock: its token, and above it the option `deadlock`. */
const TOKEN_BITS = 62;
/** No lock has this token: the thread does not follow its callbacks. */
const UNKNOWN_TOKEN = 1n;

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

/** The requests that one thread has made inside callbacks, by the lock that encloses them. */
class ThreadWaits {
  /** @type {Map<bigint, LockEntry[]>} by the token of the enclosing lock */
  #inside = new Map();
  /** @type {Map<bigint, LockEntry>} */
  #held = new Map();
  /** @type {LockEntry[]} */
  #waiting = [];
  /** @type {LockEntry[] | undefined} those in a lock that is not known; the newest last */
  #unknown = undefined;
  /** @type {Map<LockEntry, boolean>} whether a lock is in one that is not known */
  #isInUnknown = new Map();
  /** @type {Set<LockEntry>} of the locks around them */
  #taken = new Set();

  /** @param {Iterable<LockEntry>} entries  of the thread */
  constructor(entries) {
    for (const entry of entries) {
      const token = enclosingTokenOf(entry);
      if (token === undefined || entry.list === null) continue;
      const siblings = this.#inside.get(token);
      if (siblings === undefined) this.#inside.set(token, [entry]);
      else siblings.push(entry);
      if (entry.isHeld) this.#held.set(/** @type {bigint} */ (entry.token), entry);
      else this.#waiting.push(entry);
    }
  }

  /** @param {LockEntry} holder */
  insideOf(holder) {
    return this.#inside.get(/** @type {bigint} */ (holder.token)) ?? [];
  }

  /**
   * The waiting requests that may be inside a lock that was granted at this time, with the locks in
   * between. Each once.
   * @param {number} grantedAt
   */
  *perhapsInsideSince(grantedAt) {
    const isIn = (/** @type {LockEntry} */ entry) => this.#isInUnknownLock(entry);
    const unknown = (this.#unknown ??= this.#waiting.filter(isIn).sort(byAge));
    for (;;) {
      const newest = unknown.at(-1);
      if (newest === undefined || newest.requestedAt < grantedAt) return;
      unknown.pop();
      yield newest;
      yield* this.#takeAround(newest);
    }
  }

  /**
   * Looks at every lock once, however many are inside it.
   * @param {LockEntry} entry
   */
  #isInUnknownLock(entry) {
    /** @type {LockEntry[]} */
    const path = [];
    let at = entry;
    let lock = this.#lockAround(at);
    while (lock !== undefined && !this.#isInUnknown.has(lock)) {
      this.#isInUnknown.set(lock, false); // locks that seem to be inside each other end here
      path.push(lock);
      at = lock;
      lock = this.#lockAround(at);
    }
    const isIn =
      lock === undefined ? enclosingTokenOf(at) === UNKNOWN_TOKEN : this.#isInUnknown.get(lock);
    for (const each of path) this.#isInUnknown.set(each, isIn === true);
    return isIn === true;
  }

  /**
   * The known locks around a request that were not taken before.
   * @param {LockEntry} entry
   */
  *#takeAround(entry) {
    let lock = this.#lockAround(entry);
    while (lock !== undefined && !this.#taken.has(lock)) {
      this.#taken.add(lock);
      yield lock;
      lock = this.#lockAround(lock);
    }
  }

  /**
   * @param {LockEntry} entry
   * @returns {LockEntry | undefined} none, or one that is not known
   */
  #lockAround(entry) {
    const token = enclosingTokenOf(entry);
    return token === undefined ? undefined : this.#held.get(token);
  }
}

/**
 * Goes from a waiting request to the holders of its name, and from a holder to the requests that
 * its thread has made inside its callback.
 * @param {Iterable<LockEntry>} starts
 * @param {(agent: Agent) => Iterable<LockEntry>} entriesOf  the thread of an agent
 * @param {WaitWalkOptions} options
 * @returns {Set<LockEntry>}
 */
function reachableFrom(starts, entriesOf, { withQueues, withPossible }) {
  const found = new Set(starts);
  /** @type {Set<LockResource>} */
  const names = new Set();
  /** @type {Map<string | undefined, ThreadWaits>} */
  const threads = new Map();

  /** @param {Iterable<LockEntry>} entries */
  const addAll = (entries) => {
    for (const entry of entries) found.add(entry);
  };
  /** @param {Agent} agent */
  const waitsOf = (agent) => {
    let waits = threads.get(agent.thread);
    if (waits === undefined) {
      waits = new ThreadWaits(entriesOf(agent));
      threads.set(agent.thread, waits);
    }
    return waits;
  };
  /** @param {LockEntry} holder */
  const addInside = (holder) => {
    if (holder.hold !== undefined) return; // it ends even if it waits
    const waits = waitsOf(holder.agent);
    addAll(waits.insideOf(holder));
    if (withPossible) addAll(waits.perhapsInsideSince(holder.grantedAt));
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
 * Reads what can be reached from some requests: finds it in one step, which is a walk over links,
 * and makes the details in pieces. What has changed by then is left out, so all that remains was
 * there at the moment of the walk.
 * @param {LockEntry[]} starts  queued
 * @param {(agent: Agent) => Iterable<LockEntry>} entriesOf  the thread of an agent
 * @param {(entry: LockEntry) => LockDetail} describe
 * @param {WaitWalkOptions} options
 * @returns {Promise<WaitWalk>}
 */
async function walkWaits(starts, entriesOf, describe, options) {
  const entries = [...reachableFrom(starts, entriesOf, options)].sort(byAge); // queues in order
  const held = entries.filter((entry) => entry.isHeld);
  const queued = entries.filter((entry) => entry.isQueued);
  return {
    held: await runSliced(describeAll(held, describe, (entry) => entry.isHeld)),
    pending: await runSliced(describeAll(queued, describe, (entry) => entry.isQueued)),
    isOneMoment: true,
  };
}

/**
 * @param {LockEntry[]} entries
 * @param {(entry: LockEntry) => LockDetail} describe
 * @param {(entry: LockEntry) => boolean} isStillSo
 * @returns {Generator<void, LockDetail[], void>}
 */
function* describeAll(entries, describe, isStillSo) {
  /** @type {LockDetail[]} */
  const details = [];
  yield* eachOf(entries, (entry) => {
    if (isStillSo(entry)) details.push(describe(entry));
  });
  return details;
}

module.exports = { walkWaits };
