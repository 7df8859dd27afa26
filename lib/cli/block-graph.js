'use strict';

const { findStrongComponents } = require('../locks/deadlock/strong-components.js');
const { WaitGraph } = require('../locks/deadlock/wait-graph.js');

/** @typedef {import('../../types/locks.d.ts').InspectedLock} InspectedLock */
/** @typedef {import('../../types/locks.d.ts').LockManagerInspection} Inspection */
/** @typedef {{ members: InspectedLock[], isCertain: boolean }} Cycle */

/** @param {InspectedLock[]} locks @param {(lock: InspectedLock) => string} keyOf */
function groupBy(locks, keyOf) {
  /** @type {Map<string, InspectedLock[]>} */
  const groups = new Map();
  for (const lock of locks) {
    const group = groups.get(keyOf(lock));
    if (group === undefined) groups.set(keyOf(lock), [lock]);
    else group.push(lock);
  }
  return groups;
}

/** @param {InspectedLock} lock */
const nameOf = ({ name }) => name;
/** @param {InspectedLock} lock */
const clientOf = ({ clientId }) => clientId;

/**
 * The wait-for graph of one moment, over the names with waiters. A deadlock is certain if the
 * requests record in whose callback they were made; otherwise a cycle of agents is reported as a
 * possible one.
 */
class BlockGraph {
  #held;
  #pending;
  #heldByClient;
  #pendingByClient;
  /** @type {Cycle[]} */
  #cycles = [];
  /** @type {Set<InspectedLock>} */
  #deadlocked = new Set();

  /** @param {Inspection} inspection */
  constructor(inspection) {
    this.#held = groupBy(inspection.held, nameOf);
    this.#pending = groupBy(inspection.pending, nameOf);
    this.#heldByClient = groupBy(inspection.held, clientOf);
    this.#pendingByClient = groupBy(inspection.pending, clientOf);
    this.#findCertain(inspection);
    this.#findPossible();
  }

  /** The names that are waited for. */
  names() {
    return [...this.#pending.keys()].sort();
  }

  /** @param {string} name @returns {InspectedLock[]} */
  holdersOf(name) {
    return this.#held.get(name) ?? [];
  }

  /** @param {string} name @returns {InspectedLock[]} */
  waitersOf(name) {
    return this.#pending.get(name) ?? [];
  }

  /** The locks that the waiting thread holds. @param {InspectedLock} request */
  heldBy(request) {
    return this.#heldByClient.get(request.clientId) ?? [];
  }

  cycles() {
    return this.#cycles;
  }

  /** @param {InspectedLock} request */
  isDeadlocked(request) {
    return this.#deadlocked.has(request);
  }

  toData() {
    return {
      waits: [...this.#pending.values()].flat().map((request) => ({
        request,
        heldBy: this.holdersOf(request.name),
        isDeadlocked: this.isDeadlocked(request),
      })),
      deadlocks: this.#cycles,
    };
  }

  /** @param {Inspection} inspection */
  #findCertain(inspection) {
    const graph = WaitGraph.of(inspection);
    for (const request of inspection.pending) {
      if (this.#deadlocked.has(request)) continue;
      const members = /** @type {InspectedLock[]} */ (graph.cycleThrough(request));
      if (members.length > 0) this.#addCycle(members, true);
    }
  }

  #findPossible() {
    const components = findStrongComponents(this.#pendingByClient.keys(), (client) =>
      this.#blockersOf(client),
    );
    for (const clients of new Set(components.values())) {
      if (clients.length < 2) continue;
      const among = new Set(clients);
      const members = clients.flatMap((client) =>
        (this.#pendingByClient.get(client) ?? []).filter((request) =>
          this.holdersOf(request.name).some((holder) => among.has(holder.clientId)),
        ),
      );
      if (!members.some((member) => this.#deadlocked.has(member))) this.#addCycle(members, false);
    }
  }

  /**
   * The other agents that hold a lock for which this one waits.
   * @param {string} client
   */
  #blockersOf(client) {
    const requests = this.#pendingByClient.get(client) ?? [];
    return requests
      .flatMap(({ name }) => this.holdersOf(name))
      .filter(({ holdLimit }) => holdLimit === 0)
      .map(({ clientId }) => clientId)
      .filter((clientId) => clientId !== client);
  }

  /** @param {InspectedLock[]} members @param {boolean} isCertain */
  #addCycle(members, isCertain) {
    this.#cycles.push({ members, isCertain });
    for (const member of members) this.#deadlocked.add(member);
  }
}

/** @param {Inspection} inspection */
const createBlockGraph = (inspection) => new BlockGraph(inspection);

module.exports = { BlockGraph, createBlockGraph };
