'use strict';

const { createBlockGraph } = require('./block-graph.js');
const { LockStatistics } = require('../metrics/lock-statistics.js');

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
 * @property {import('./block-graph.js').Cycle[]} cycles
 * @property {{ held: number, pending: number, agents: number }} totals
 * @property {Counts} counts  since the monitor began
 * @property {Counts} rates  a second, since the last view
 * @property {number} missed  events since the monitor began
 * @property {import('../metrics/histogram.js').HistogramData} waits
 * @property {import('../metrics/histogram.js').HistogramData} holds
 * @property {LockEvent[]} incidents  since the last view
 */

/** So many rates are kept for each name. */
const HISTORY = 60;
/** Names that nobody has used for so many views are forgotten. */
const FORGET_AFTER = HISTORY;
const MAX_NAMES = 10_000;
/** What a person wants to be told of, beside being counted. */
const INCIDENTS = new Set(['died', 'stolen', 'expired', 'timedout']);
const MAX_INCIDENTS = 200;
const MS_PER_SECOND = 1_000;

/** @typedef {{ grants: number, history: number[], idleViews: number }} NameStatistics */

/** Follows a bucket: events are counted as they come, a view is taken when it is asked for. */
class LockMonitor {
  #manager;
  #watch;
  #statistics = new LockStatistics();
  /** @type {Map<string, NameStatistics>} */
  #names = new Map();
  /** @type {LockEvent[]} */
  #incidents = [];
  /** @type {Counts} */
  #lastCounts = { ...this.#statistics.counts };
  #lastTime = Date.now();
  /** @type {unknown} */
  #failure = undefined;
  /** @type {((event: LockEvent) => void) | undefined} */
  #onEvent;

  /**
   * @param {import('holdfast').LockManager} manager
   * @param {(event: LockEvent) => void} [onEvent]
   */
  constructor(manager, onEvent = undefined) {
    this.#manager = manager;
    this.#onEvent = onEvent;
    this.#watch = manager.watch();
  }

  /** Begins to count; resolves when what was there before is known. */
  async start() {
    this.#statistics.seed(await this.#manager.inspect());
    void this.#read();
  }

  /** @returns {Promise<View>} */
  async view() {
    if (this.#failure !== undefined) throw this.#failure;
    const inspection = await this.#manager.inspect();
    const time = Date.now();
    const seconds = Math.max(time - this.#lastTime, 1) / MS_PER_SECOND;
    this.#lastTime = time;
    const { held, pending } = inspection;
    const agents = new Set([...held, ...pending].map(({ clientId }) => clientId)).size;
    return {
      time,
      names: this.#nameViews(inspection, seconds),
      cycles: createBlockGraph(inspection).cycles(),
      totals: { held: held.length, pending: pending.length, agents },
      counts: { ...this.#statistics.counts },
      rates: this.#rates(seconds),
      missed: this.#statistics.lost,
      waits: this.#statistics.waits.toData(),
      holds: this.#statistics.holds.toData(),
      incidents: this.#incidents.splice(0),
    };
  }

  close() {
    void this.#watch.return();
  }

  async #read() {
    try {
      for await (const event of this.#watch) this.#record(event);
    } catch (error) {
      this.#failure = error;
    }
  }

  /** @param {LockEvent} event */
  #record(event) {
    this.#statistics.record(event);
    if (event.type === 'granted') this.#namesOf(event.name).grants += 1;
    if (INCIDENTS.has(event.type)) {
      if (this.#incidents.length >= MAX_INCIDENTS) this.#incidents.shift();
      this.#incidents.push(event);
    }
    this.#onEvent?.(event);
  }

  /** @param {string} name */
  #namesOf(name) {
    let known = this.#names.get(name);
    if (known === undefined) {
      known = { grants: 0, history: [], idleViews: 0 };
      this.#names.set(name, known);
      if (this.#names.size > MAX_NAMES) this.#names.delete(this.#names.keys().next().value ?? '');
    }
    return known;
  }

  /** @param {number} seconds */
  #rates(seconds) {
    const { counts } = this.#statistics;
    const entries = Object.entries(counts).map(([kind, count]) => {
      const before = this.#lastCounts[/** @type {keyof Counts} */ (kind)];
      return [kind, (count - before) / seconds];
    });
    this.#lastCounts = { ...counts };
    return Object.fromEntries(entries);
  }

  /**
   * @param {Inspection} inspection
   * @param {number} seconds
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
      if (one.idleViews > FORGET_AFTER) this.#names.delete(name);
      else views.set(name, { name, held: [], pending: [], rate, history: [...one.history] });
    }
    for (const lock of held) views.get(lock.name)?.held.push(lock);
    for (const request of pending) views.get(request.name)?.pending.push(request);
    return [...views.values()];
  }
}

module.exports = { HISTORY, LockMonitor };
