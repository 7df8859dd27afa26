'use strict';

const { groupByName } = require('../metrics/lock-statistics.js');
const { runAtOnce } = require('../sliced.js');
const { WaitGraph } = require('../locks/deadlock/wait-graph.js');

/** @typedef {import('../../types/locks.d.ts').InspectedLock} InspectedLock */
/** @typedef {import('../../types/locks.d.ts').LockManagerInspection} Inspection */

/**
 * @typedef {object} Deadlock
 * @property {InspectedLock[]} members  a cycle: each waits for a lock in whose callback the next
 *   was made
 * @property {number} behind  how many more wait, directly or through others, for its members
 */

/**
 * How many requests or locks of one name a person is shown; deadlocked requests come first.
 */
const MAX_LISTED = 5;

/**
 * The names with waiters at one moment, and the deadlocks among them, by the same rules as in the
 * agents. Only requests that are known to be inside the callback of a lock are members.
 */
class BlockGraph {
  #held;
  #pending;
  /** @type {Map<bigint | null, InspectedLock>} */
  #byToken;
  /** @type {Set<InspectedLock>} */
  #deadlocked = new Set();
  /** @type {Deadlock[]} */
  deadlocks = [];

  /** @param {Inspection} inspection */
  constructor(inspection) {
    this.#held = groupByName(inspection.held);
    this.#pending = groupByName(inspection.pending);
    this.#byToken = new Map(inspection.held.map((lock) => [lock.token, lock]));
    const graph = WaitGraph.of(inspection);
    for (const deadlock of graph.deadlocks) {
      const cycle = /** @type {InspectedLock[]} */ (runAtOnce(graph.findCycle(deadlock.victim)));
      const behind = deadlock.members.length - cycle.length + graph.countBehind(deadlock);
      this.deadlocks.push({ members: cycle, behind });
      for (const member of cycle) this.#deadlocked.add(member);
    }
  }

  /** The names that are waited for, those in deadlocks first. */
  names() {
    const isStuck = (/** @type {string} */ name) =>
      this.waitersOf(name).some((request) => this.#deadlocked.has(request));
    const names = [...this.#pending.keys()].sort();
    const stuck = new Set(names.filter(isStuck));
    return [...stuck, ...names.filter((name) => !stuck.has(name))];
  }

  /** @param {string} name @returns {InspectedLock[]} */
  holdersOf(name) {
    return this.#held.get(name) ?? [];
  }

  /** @param {string} name @returns {InspectedLock[]} those in deadlocks first */
  waitersOf(name) {
    const waiters = this.#pending.get(name) ?? [];
    if (this.#deadlocked.size === 0) return waiters;
    const isStuck = (/** @type {InspectedLock} */ request) => this.#deadlocked.has(request);
    return [...waiters.filter(isStuck), ...waiters.filter((request) => !isStuck(request))];
  }

  /**
   * The lock in whose callback a request was made, if it is known.
   * @param {InspectedLock} request
   */
  enclosing({ enclosingToken }) {
    return enclosingToken === null ? undefined : this.#byToken.get(enclosingToken);
  }

  /** @param {InspectedLock} request */
  isDeadlocked(request) {
    return this.#deadlocked.has(request);
  }

  toData() {
    return {
      waits: [...this.#pending.values()].flat().map((request) => ({
        request,
        holders: this.holdersOf(request.name).length,
        heldBy: this.holdersOf(request.name).slice(0, MAX_LISTED),
        isDeadlocked: this.isDeadlocked(request),
      })),
      deadlocks: this.deadlocks,
    };
  }
}

module.exports = { BlockGraph, MAX_LISTED };
