'use strict';

const { performance } = require('../time.js');
const { channel } = require('node:diagnostics_channel');
const { Histogram } = require('./histogram.js');
const { noCounts } = require('./lock-statistics.js');

/** @typedef {import('../../types/metrics.d.ts').LockMetricsData} Data */
/** @typedef {import('../../types/diagnostics.d.ts').LockRequestMessage} Message */

const MS_PER_SECOND = 1_000;

/** The sums of the messages of some requests. */
class RequestStatistics {
  counts = { ...noCounts(), misses: 0 };
  /** @type {Map<Message, number>} since when, by the monotonic clock: a host's clock is set back */
  waiting = new Map();
  /** @type {Map<Message, number>} */
  holding = new Map();
  waits;
  holds;

  /** @param {readonly number[] | undefined} bounds */
  constructor(bounds) {
    this.waits = new Histogram(bounds);
    this.holds = new Histogram(bounds);
  }

  /** @returns {Omit<Data, 'scope' | 'bucket'>} */
  toData() {
    // A thread that has died counts nothing.
    const counts = { ...this.counts, deaths: undefined };
    const now = performance.now();
    // The first that came is the oldest.
    const oldest = (/** @type {Map<Message, number>} */ requests) => {
      const [since = now] = requests.values();
      return (now - since) / MS_PER_SECOND;
    };
    return {
      held: this.holding.size,
      waiting: this.waiting.size,
      oldestHoldSeconds: oldest(this.holding),
      oldestWaitSeconds: oldest(this.waiting),
      ...counts,
      waitSeconds: this.waits.toData(),
      holdSeconds: this.holds.toData(),
    };
  }
}

/** The requests of this thread, seen by its diagnostics channels, in all its buckets. */
class ProcessSource {
  #bounds;
  #all;
  /** @type {Map<string, RequestStatistics> | undefined} */
  #byName;
  /** @type {((seconds: number, kind: 'wait' | 'hold', name: string) => void) | undefined} */
  #onTime = undefined;
  /** @type {[string, (message: any) => void][]} */
  #subscriptions = [
    ['locks.request.start', (message) => this.#each(message, onStart)],
    ['locks.request.grant', (message) => this.#onGrant(message)],
    ['locks.request.miss', (message) => this.#each(message, onMiss)],
    ['locks.request.lost', (message) => this.#each(message, onLost)],
    ['locks.request.end', (message) => this.#onEnd(message)],
  ];

  /** @param {{ names: boolean, bounds: readonly number[] | undefined }} options */
  constructor({ names, bounds }) {
    this.#bounds = bounds;
    this.#all = new RequestStatistics(bounds);
    this.#byName = names ? new Map() : undefined;
    for (const [name, listener] of this.#subscriptions) channel(name).subscribe(listener);
  }

  /** @returns {Promise<Data>} */
  async collect() {
    const names =
      this.#byName &&
      Object.fromEntries([...this.#byName].map(([name, one]) => [name, one.toData()]));
    return { scope: 'process', bucket: '', ...this.#all.toData(), names };
  }

  /** @param {(seconds: number, kind: 'wait' | 'hold', name: string) => void} listener */
  onTime(listener) {
    this.#onTime = listener;
  }

  close() {
    for (const [name, listener] of this.#subscriptions) channel(name).unsubscribe(listener);
  }

  /**
   * @param {Message} message
   * @param {(statistics: RequestStatistics, message: Message, now: number) => void} record
   */
  #each(message, record, now = performance.now()) {
    record(this.#all, message, now);
    if (this.#byName === undefined) return;
    const known = this.#byName.get(message.name) ?? new RequestStatistics(this.#bounds);
    this.#byName.set(message.name, known);
    record(known, message, now);
  }

  /** @param {Message} message */
  #onGrant(message) {
    const now = performance.now();
    this.#onTime?.(secondsSince(this.#all.waiting.get(message), now), 'wait', message.name);
    this.#each(message, onGrant, now);
  }

  /** @param {Message} message */
  #onEnd(message) {
    const now = performance.now();
    const since = this.#all.holding.get(message);
    if (since !== undefined) this.#onTime?.(secondsSince(since, now), 'hold', message.name);
    this.#each(message, onEnd, now);
  }
}

/**
 * @param {number | undefined} since  of a request that began before the counting: unknown
 * @param {number} now
 */
const secondsSince = (since, now) => (since === undefined ? 0 : (now - since) / MS_PER_SECOND);

/** @param {RequestStatistics} statistics @param {Message} message @param {number} now */
function onStart(statistics, message, now) {
  statistics.waiting.set(message, now);
}

/** @param {RequestStatistics} statistics @param {Message} message @param {number} now */
function onGrant(statistics, message, now) {
  statistics.waits.record(secondsSince(statistics.waiting.get(message), now));
  statistics.waiting.delete(message);
  statistics.holding.set(message, now);
  statistics.counts.grants += 1;
}

/** @param {RequestStatistics} statistics @param {Message} message */
function onMiss(statistics, message) {
  statistics.waiting.delete(message);
  statistics.counts.misses += 1;
}

/** @param {RequestStatistics} statistics @param {Message} message */
function onLost(statistics, { error }) {
  const { reason } = /** @type {any} */ (error);
  if (reason === 'stolen') statistics.counts.steals += 1;
  if (reason === 'expired') statistics.counts.expiries += 1;
}

/** @param {RequestStatistics} statistics @param {Message} message @param {number} now */
function onEnd(statistics, message, now) {
  const since = statistics.holding.get(message);
  if (statistics.holding.delete(message)) {
    statistics.holds.record(secondsSince(since, now));
    const { reason } = /** @type {any} */ (message.error ?? {});
    if (reason === undefined) statistics.counts.releases += 1;
  } else if (statistics.waiting.delete(message)) {
    const { name } = /** @type {any} */ (message.error ?? {});
    statistics.counts[name === 'TimeoutError' ? 'timeouts' : 'aborts'] += 1;
  }
}

module.exports = { ProcessSource };
