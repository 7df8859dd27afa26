'use strict';

const { BlockGraph } = require('./block-graph.js');
const { backendOf } = require('./internals.js');
const { CountEstimate, factorOf, LockStatistics } = require('../metrics/lock-statistics.js');
const { EventSampler } = require('../metrics/event-sampler.js');

/** @typedef {import('../../types/backend.d.ts').LockEvent} LockEvent */
/** @typedef {import('../../types/locks.d.ts').InspectedLock} InspectedLock */
/** @typedef {import('../../types/locks.d.ts').LockManagerInspection} Inspection */
/** @typedef {import('../metrics/lock-statistics.js').Counts} Counts */

/**
 * @typedef {object} NameView  a lock at one moment
 * @property {string} name
 * @property {InspectedLock[]} held
 * @property {InspectedLock[]} pending
 * @property {number} rate  grants a second since the last view
 * @property {number[]} history  rates, the newest last
 */

/**
 * @typedef {object} View  a bucket at one moment, and what happened since the last one
 * @property {number} time  ms since 1970
 * @property {NameView[]} names
 * @property {import('./block-graph.js').Deadlock[]} deadlocks
 * @property {{ held: number, pending: number, agents: number }} totals
 * @property {Counts} counts  since the monitor began
 * @property {Counts} rates  a second, since the last view
 * @property {number} missed  events since the monitor began
 * @property {boolean} isSampled  requests were too many to see each: rates of names and times are
 *   of a sample; grants and incidents are of all
 * @property {import('../metrics/lock-statistics.js').HistogramData} waits
 * @property {import('../metrics/lock-statistics.js').HistogramData} holds
 * @property {LockEvent[]} incidents  since the last view
 */

/** So many rates are kept for each name. */
const HISTORY = 60;
/** Names that no request has used for so many views are forgotten. */
const FORGET_AFTER = HISTORY;
/** Names that are neither held nor waited for, of which rates are kept. */
const MAX_UNUSED = 10_000;
/** Events that are listed for the user, beside being counted. */
const INCIDENTS = new Set(['died', 'stolen', 'expired', 'timedout']);
const MAX_INCIDENTS = 200;
const MS_PER_SECOND = 1_000;

/** @typedef {{ grants: number, history: number[], idleViews: number }} NameStatistics */

/**
 * @param {Counts} counts
 * @param {number} seconds
 */
const ratesOf = (counts, seconds) =>
  /** @type {Counts} */ (
    Object.fromEntries(Object.entries(counts).map(([kind, count]) => [kind, count / seconds]))
  );

/** Follows a bucket: events are counted as they come, a view is taken when it is asked for. */
class LockMonitor {
  #manager;
  #sampler;
  #estimate = new CountEstimate();
  #statistics = new LockStatistics();
  /** @type {Map<string, NameStatistics>} */
  #names = new Map();
  /** @type {LockEvent[]} */
  #incidents = [];
  #lastTime = Date.now();

  /** @param {import('holdfast').LockManager} manager */
  constructor(manager) {
    this.#manager = manager;
    this.#sampler = new EventSampler(backendOf(manager), {
      seed: (inspection) => this.#statistics.seed(inspection),
      follow: (event) => this.#statistics.follow(event),
      record: (event) => this.#record(event),
    });
  }

  /** Begins to count; resolves when what was there before is known. */
  async start() {
    this.#sampler.start(await this.#manager.inspect());
  }

  /** @returns {Promise<View>} */
  async view() {
    if (this.#sampler.failure !== undefined) throw this.#sampler.failure;
    // First what has happened: the next window is of what comes.
    const taken = this.#sampler.take();
    const deltas = this.#estimate.deltas(this.#statistics.counts);
    const factor = factorOf(deltas.grants, taken);
    this.#estimate.add(deltas, factor, taken);
    const inspection = await this.#sampler.next(() => this.#manager.inspect());
    const time = Date.now();
    const seconds = Math.max(time - this.#lastTime, 1) / MS_PER_SECOND;
    this.#lastTime = time;
    const { held, pending } = inspection;
    const agents = new Set([...held, ...pending].map(({ clientId }) => clientId)).size;
    return {
      time,
      names: this.#nameViews(inspection, seconds / factor),
      deadlocks: new BlockGraph(inspection).deadlocks,
      totals: { held: held.length, pending: pending.length, agents },
      counts: { ...this.#estimate.totals },
      rates: ratesOf(deltas, seconds),
      missed: this.#statistics.lost,
      isSampled: taken.isSample,
      waits: this.#statistics.waits.toData(),
      holds: this.#statistics.holds.toData(),
      incidents: this.#incidents.splice(0),
    };
  }

  close() {
    this.#sampler.close();
  }

  /** @param {LockEvent} event */
  #record(event) {
    this.#statistics.record(event);
    if (event.type === 'granted') this.#namesOf(event.name).grants += 1;
    if (INCIDENTS.has(event.type)) {
      if (this.#incidents.length >= MAX_INCIDENTS) this.#incidents.shift();
      this.#incidents.push(event);
    }
  }

  /** @param {string} name */
  #namesOf(name) {
    let known = this.#names.get(name);
    if (known === undefined) {
      known = { grants: 0, history: [], idleViews: 0 };
      this.#names.set(name, known);
    }
    return known;
  }

  /**
   * @param {Inspection} inspection
   * @param {number} seconds  in which those grants that were counted would happen
   * @returns {NameView[]}
   */
  #nameViews({ held, pending }, seconds) {
    /** @type {Map<string, NameView>} */
    const views = new Map();
    for (const { name } of [...held, ...pending]) this.#namesOf(name).idleViews = 0;
    for (const [name, one] of this.#names) {
      const rate = one.grants / seconds;
      one.idleViews = one.grants > 0 ? 0 : one.idleViews + 1;
      one.grants = 0;
      one.history.push(rate);
      if (one.history.length > HISTORY) one.history.shift();
      views.set(name, { name, held: [], pending: [], rate, history: [...one.history] });
    }
    for (const lock of held) views.get(lock.name)?.held.push(lock);
    for (const request of pending) views.get(request.name)?.pending.push(request);
    let unused = 0;
    for (const { name, held: holders, pending: waiters, rate } of views.values()) {
      if (holders.length + waiters.length > 0) continue;
      unused += 1;
      const { idleViews } = this.#namesOf(name);
      if (idleViews <= FORGET_AFTER && unused <= MAX_UNUSED) continue;
      this.#names.delete(name);
      if (rate === 0) views.delete(name);
    }
    return [...views.values()];
  }
}

module.exports = { HISTORY, LockMonitor };
