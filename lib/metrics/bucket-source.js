'use strict';

const { WaitGraph } = require('../locks/deadlock/wait-graph.js');
const { CountEstimate, factorOf } = require('./count-estimate.js');
const { EventSampler } = require('./event-sampler.js');
const { LockStatistics } = require('./lock-statistics.js');
const { clearInterval, setInterval, setTimeout } = require('../time.js');

/** @typedef {import('../../types/metrics.d.ts').LockMetricsData} Data */
/** @typedef {import('../../types/locks.d.ts').InspectedLock} InspectedLock */
/** @typedef {import('../../types/locks.d.ts').LockManager} LockManager */
/** @typedef {import('../../types/locks.d.ts').LockManagerInspection} Inspection */

const BACKEND = Symbol.for('holdfast.backend');
const MS_PER_SECOND = 1_000;
const WINDOW_MS = 1_000;
/** Of a bucket that is too busy to see each request, one window of so many: this thread pays. */
const WINDOWS_OF_A_SAMPLE = 10;
/** While an inspection waits for an answer of a cluster. */
const LOOK_AGAIN_MS = 250;
/** The first session takes some round trips. */
const LOOKS_FOR_THE_FIRST = 4;
const NOT_RUNNING = new Set(['stopped', 'traced', 'frozen', 'zombie']);

/** @param {number} ms */
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {number[]} values  ms */
const oldestSeconds = (values) =>
  values.reduce((oldest, ms) => Math.max(oldest, ms), 0) / MS_PER_SECOND;

/**
 * The present state of some requests.
 * @param {Inspection} inspection
 * @param {Set<object>} deadlocked
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

/**
 * @template {{ name: string }} L
 * @param {readonly L[]} locks
 */
function groupByName(locks) {
  /** @type {Map<string, L[]>} */
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
  return new Set(WaitGraph.of(inspection).deadlocks.flatMap(({ members }) => members));
}

/** @type {Inspection} */
const NOTHING = { held: [], pending: [] };
/** The values without a session with the cluster: the holders are unknown. */
const UNKNOWN = {
  held: NaN,
  waiting: NaN,
  oldestHoldSeconds: NaN,
  oldestWaitSeconds: NaN,
  stoppedHolders: undefined,
  deadlockedRequests: undefined,
};

/** The observed events, and an estimate of all events from them. */
class Past {
  statistics;
  #estimate = new CountEstimate();

  /** @param {readonly number[] | undefined} bounds */
  constructor(bounds) {
    this.statistics = new LockStatistics(bounds);
  }

  deltas() {
    return this.#estimate.deltas(this.statistics.counts);
  }

  /**
   * @param {import('./lock-statistics.js').Counts} deltas
   * @param {number} factor
   * @param {{ grants: number | undefined, isSample: boolean }} taken
   */
  add(deltas, factor, taken) {
    this.#estimate.add(deltas, factor, taken);
  }

  toData() {
    return {
      ...this.#estimate.totals,
      waitSeconds: this.statistics.waits.toData(),
      holdSeconds: this.statistics.holds.toData(),
    };
  }
}

/** All threads of all processes of a bucket, seen by a watch of its events. */
class BucketSource {
  #manager;
  #bounds;
  #sampler;
  #all;
  /** @type {Map<string, Past> | undefined} */
  #byName;
  #seeded;
  #timer;
  #pausedFor = 0;

  /**
   * @param {LockManager} manager
   * @param {{ names: boolean, bounds: readonly number[] | undefined }} options
   */
  constructor(manager, { names, bounds }) {
    this.#manager = manager;
    this.#bounds = bounds;
    this.#all = new Past(bounds);
    this.#byName = names ? new Map() : undefined;
    this.#sampler = this.#openSampler();
    this.#seeded = this.#start();
    this.#seeded.catch(() => {}); // collect() rejects with it
    this.#timer = setInterval(() => this.#endWindow(), WINDOW_MS).unref();
  }

  /** @returns {Promise<Data>} */
  async collect() {
    const backend = this.#backend();
    const { inspection, session } = await this.#inspectWithSession(backend);
    this.#count();
    const deadlocked = findDeadlocked(inspection ?? NOTHING);
    return {
      scope: 'bucket',
      bucket: backend.bucket ?? '',
      ...(inspection === undefined ? UNKNOWN : present(inspection, deadlocked)),
      ...this.#all.toData(),
      missedEvents: this.#all.statistics.lost,
      table: backend.usage?.(),
      session,
      names: this.#byName && this.#dataByName(this.#byName, inspection ?? NOTHING, deadlocked),
    };
  }

  /**
   * An inspection waits for a session, however long there is none: the figures do not.
   * @param {import('../../types/backend.d.ts').LockBackend} backend
   * @returns {Promise<{ inspection?: Inspection, session?: Data['session'] }>} without an
   *   inspection there is no session with the cluster
   */
  async #inspectWithSession(backend) {
    if (backend.status === undefined) return { inspection: await this.#inspect() };
    /** @type {Inspection | undefined} */
    let inspection;
    const inspecting = this.#inspect().then((found) => (inspection = found));
    inspecting.catch(() => {}); // where it is not waited for
    for (let looks = 0; ; looks += 1) {
      const session = await backend.status();
      if (inspection !== undefined && session.lease !== '') return { inspection, session };
      const isFirst = session.sessions === 0 && looks < LOOKS_FOR_THE_FIRST;
      if (session.lease === '' && !isFirst) return { session };
      await Promise.race([inspecting, sleep(LOOK_AGAIN_MS)]);
    }
  }

  /** @returns {Promise<Inspection>} */
  async #inspect() {
    await this.#seeded;
    if (this.#sampler.failure !== undefined) throw this.#sampler.failure;
    return this.#manager.inspect();
  }

  /**
   * @param {(seconds: number, kind: 'wait' | 'hold', name: string) => void} listener  for
   *   instruments that take single values
   */
  onTime(listener) {
    this.#all.statistics.onTime = listener;
  }

  close() {
    clearInterval(this.#timer);
    this.#sampler.close();
  }

  /** @returns {import('../../types/backend.d.ts').LockBackend} */
  #backend() {
    return /** @type {any} */ (this.#manager)[BACKEND]();
  }

  /** The backend's own watch: it does not keep the process alive. */
  #openSampler() {
    return new EventSampler(this.#backend(), {
      seed: (inspection) => this.#seed(inspection),
      follow: (event) => this.#each(event, (statistics) => statistics.follow(event)),
      record: (event) => this.#each(event, (statistics) => statistics.record(event)),
    });
  }

  /** Continues the counts over the manager's next table; rejects while there is none. */
  async #replaceFailed() {
    const sampler = this.#openSampler();
    this.#sampler.close();
    this.#sampler = sampler;
    this.#seeded = this.#start();
    await this.#seeded;
  }

  /** Resolves when the initial state is known; continues with the events. */
  async #start() {
    const sampler = this.#sampler;
    try {
      sampler.start(await this.#manager.inspect());
    } catch (error) {
      sampler.failure ??= error;
      throw error;
    }
  }

  async #endWindow() {
    if (this.#sampler.failure !== undefined) {
      // Until it succeeds, collect() rejects with the failure.
      return this.#replaceFailed().catch(() => {});
    }
    if (!this.#sampler.isPaused) return this.#sampler.renew();
    this.#pausedFor = (this.#pausedFor + 1) % WINDOWS_OF_A_SAMPLE;
    if (this.#pausedFor !== 0) return;
    try {
      this.#count();
      await this.#sampler.next(() => this.#manager.inspect());
    } catch (error) {
      this.#sampler.failure ??= error;
    }
  }

  /** Adds the events observed since the last call to the counts. */
  #count() {
    const taken = this.#sampler.take();
    const deltas = this.#all.deltas();
    const factor = factorOf(deltas.grants, taken);
    this.#all.add(deltas, factor, taken);
    const { isSample } = taken;
    for (const past of this.#byName?.values() ?? []) {
      past.add(past.deltas(), factor, { grants: undefined, isSample });
    }
  }

  /** @param {import('../../types/backend.d.ts').LockInspection} inspection */
  #seed(inspection) {
    this.#all.statistics.seed(inspection);
    if (this.#byName === undefined) return;
    const [held, pending] = [groupByName(inspection.held), groupByName(inspection.pending)];
    for (const name of new Set([...this.#byName.keys(), ...held.keys(), ...pending.keys()])) {
      const parts = { held: held.get(name) ?? [], pending: pending.get(name) ?? [] };
      this.#pastOf(this.#byName, name).statistics.seed(parts);
    }
  }

  /**
   * @param {import('../../types/backend.d.ts').LockEvent} event
   * @param {(statistics: LockStatistics) => void} use
   */
  #each(event, use) {
    use(this.#all.statistics);
    if (this.#byName !== undefined) use(this.#pastOf(this.#byName, event.name).statistics);
  }

  /**
   * @param {Map<string, Past>} byName
   * @param {string} name
   */
  #pastOf(byName, name) {
    const known = byName.get(name) ?? new Past(this.#bounds);
    byName.set(name, known);
    return known;
  }

  /**
   * @param {Map<string, Past>} byName
   * @param {Inspection} inspection
   * @param {Set<object>} deadlocked
   */
  #dataByName(byName, { held, pending }, deadlocked) {
    for (const { name } of [...held, ...pending]) this.#pastOf(byName, name);
    const [heldOf, pendingOf] = [groupByName(held), groupByName(pending)];
    const entries = [...byName].map(([name, past]) => {
      const parts = { held: heldOf.get(name) ?? [], pending: pendingOf.get(name) ?? [] };
      return [name, { ...present(parts, deadlocked), ...past.toData() }];
    });
    return Object.fromEntries(entries);
  }
}

module.exports = { BucketSource };
