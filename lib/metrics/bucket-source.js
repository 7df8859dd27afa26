'use strict';

const { WaitGraph } = require('../locks/deadlock/wait-graph.js');
const { LockStatistics } = require('./lock-statistics.js');

/** @typedef {import('../../types/metrics.d.ts').LockMetricsData} Data */
/** @typedef {import('../../types/locks.d.ts').InspectedLock} InspectedLock */
/** @typedef {import('../../types/locks.d.ts').LockManager} LockManager */
/** @typedef {import('../../types/locks.d.ts').LockManagerInspection} Inspection */

const BACKEND = Symbol.for('holdfast.backend');
const MS_PER_SECOND = 1_000;
/** So many events are read at a time. */
const MAX_EVENTS = 256;
const NOT_RUNNING = new Set(['stopped', 'traced', 'frozen', 'zombie']);

/** @param {number[]} values  ms */
const oldestSeconds = (values) =>
  values.reduce((oldest, ms) => Math.max(oldest, ms), 0) / MS_PER_SECOND;

/**
 * What is true now of some requests.
 * @param {Inspection} inspection
 * @param {Set<InspectedLock>} deadlocked
 */
function present({ held, pending }, deadlocked) {
  return {
    held: held.length,
    waiting: pending.length,
    oldestHoldSeconds: oldestSeconds(held.map((lock) => lock.held ?? 0)),
    oldestWaitSeconds: oldestSeconds(pending.map((request) => request.waited)),
    stoppedHolders: held.filter(({ processState }) => NOT_RUNNING.has(processState)).length,
    deadlockedRequests: pending.filter((request) => deadlocked.has(request)).length,
  };
}

/** @param {InspectedLock[]} locks */
function groupByName(locks) {
  /** @type {Map<string, InspectedLock[]>} */
  const groups = new Map();
  for (const lock of locks) {
    const group = groups.get(lock.name);
    if (group === undefined) groups.set(lock.name, [lock]);
    else group.push(lock);
  }
  return groups;
}

/** @param {Inspection} inspection */
function findDeadlocked(inspection) {
  const graph = WaitGraph.of(inspection);
  return new Set(inspection.pending.filter((request) => graph.knotOf(request).length > 0));
}

/** @param {LockStatistics} statistics */
const toPast = (statistics) => ({
  ...statistics.counts,
  waitSeconds: statistics.waits.toData(),
  holdSeconds: statistics.holds.toData(),
});

/** All threads of all processes of a bucket, seen by a watch of its events. */
class BucketSource {
  #manager;
  #bounds;
  #watch;
  #all;
  /** @type {Map<string, LockStatistics> | undefined} */
  #byName;
  /** @type {unknown} what the watch ended with */
  #failure = undefined;
  #seeded;

  /**
   * @param {LockManager} manager
   * @param {{ names: boolean, bounds: readonly number[] | undefined }} options
   */
  constructor(manager, { names, bounds }) {
    this.#manager = manager;
    this.#bounds = bounds;
    this.#all = new LockStatistics(bounds);
    this.#byName = names ? new Map() : undefined;
    // The backend's own watch: it does not keep the process alive.
    this.#watch = this.#backend().watch(undefined);
    this.#seeded = this.#follow();
    this.#seeded.catch(() => {}); // collect() rejects with it
  }

  /** @returns {Promise<Data>} */
  async collect() {
    await this.#seeded;
    if (this.#failure !== undefined) throw this.#failure;
    const inspection = await this.#manager.inspect();
    const deadlocked = findDeadlocked(inspection);
    const backend = this.#backend();
    return {
      scope: 'bucket',
      bucket: backend.bucket ?? '',
      ...present(inspection, deadlocked),
      ...toPast(this.#all),
      missedEvents: this.#all.lost,
      table: backend.usage?.(),
      names: this.#byName && this.#dataByName(this.#byName, inspection, deadlocked),
    };
  }

  /**
   * @param {(seconds: number, kind: 'wait' | 'hold', name: string) => void} listener  for
   *   instruments that take single values
   */
  onTime(listener) {
    this.#all.onTime = listener;
  }

  close() {
    this.#watch.close();
  }

  /** @returns {import('../../types/backend.d.ts').LockBackend} */
  #backend() {
    return /** @type {any} */ (this.#manager)[BACKEND]();
  }

  /** Resolves when what was there at first is known; goes on with the events. */
  async #follow() {
    this.#all.seed(await this.#manager.inspect());
    void this.#read();
  }

  async #read() {
    try {
      for (;;) {
        const events = await this.#watch.read(MAX_EVENTS);
        if (events.length === 0) return; // it was closed
        for (const event of events) this.#record(event);
      }
    } catch (error) {
      this.#failure = error;
    }
  }

  /** @param {import('../../types/backend.d.ts').LockEvent} event */
  #record(event) {
    this.#all.record(event);
    if (this.#byName !== undefined) this.#statisticsOf(this.#byName, event.name).record(event);
  }

  /**
   * @param {Map<string, LockStatistics>} byName
   * @param {string} name
   */
  #statisticsOf(byName, name) {
    const known = byName.get(name) ?? new LockStatistics(this.#bounds);
    byName.set(name, known);
    return known;
  }

  /**
   * @param {Map<string, LockStatistics>} byName
   * @param {Inspection} inspection
   * @param {Set<InspectedLock>} deadlocked
   */
  #dataByName(byName, { held, pending }, deadlocked) {
    for (const { name } of [...held, ...pending]) this.#statisticsOf(byName, name);
    const [heldOf, pendingOf] = [groupByName(held), groupByName(pending)];
    const entries = [...byName].map(([name, statistics]) => {
      const parts = { held: heldOf.get(name) ?? [], pending: pendingOf.get(name) ?? [] };
      return [name, { ...present(parts, deadlocked), ...toPast(statistics) }];
    });
    return Object.fromEntries(entries);
  }
}

module.exports = { BucketSource };
