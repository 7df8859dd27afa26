'use strict';

const { dateNow } = require('../time.js');
const { channel } = require('node:diagnostics_channel');
const { Histogram } = require('./histogram.js');
const { noCounts } = require('./lock-statistics.js');

/** @typedef {import('../../types/metrics.d.ts').LockMetricsData} Data */
/** @typedef {import('../../types/diagnostics.d.ts').LockRequestMessage} Message */

const MS_PER_SECOND = 1_000;

/** What the messages of some requests add up to. */
class RequestStatistics {
  counts = { ...noCounts(), misses: 0 };
  /** @type {Set<Message>} */
  waiting = new Set();
  /** @type {Set<Message>} */
  holding = new Set();
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
    const now = dateNow();
    const oldest = (
      /** @type {Set<Message>} */ messages,
      /** @type {'requestedAt' | 'grantedAt'} */ at,
    ) => [...messages].reduce((most, message) => Math.max(most, now - (message[at] ?? now)), 0);
    return {
      held: this.holding.size,
      waiting: this.waiting.size,
      oldestHoldSeconds: oldest(this.holding, 'grantedAt') / MS_PER_SECOND,
      oldestWaitSeconds: oldest(this.waiting, 'requestedAt') / MS_PER_SECOND,
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
   * @param {(statistics: RequestStatistics, message: Message) => void} record
   */
  #each(message, record) {
    record(this.#all, message);
    if (this.#byName === undefined) return;
    const known = this.#byName.get(message.name) ?? new RequestStatistics(this.#bounds);
    this.#byName.set(message.name, known);
    record(known, message);
  }

  /** @param {Message} message */
  #onGrant(message) {
    this.#each(message, onGrant);
    this.#onTime?.(waitOf(message), 'wait', message.name);
  }

  /** @param {Message} message */
  #onEnd(message) {
    if (this.#all.holding.has(message)) this.#onTime?.(holdOf(message), 'hold', message.name);
    this.#each(message, onEnd);
  }
}

/** @param {Message} message */
const waitOf = ({ requestedAt, grantedAt }) => ((grantedAt ?? 0) - requestedAt) / MS_PER_SECOND;
/** @param {Message} message */
const holdOf = ({ grantedAt, endedAt }) => ((endedAt ?? 0) - (grantedAt ?? 0)) / MS_PER_SECOND;

/** @param {RequestStatistics} statistics @param {Message} message */
function onStart(statistics, message) {
  statistics.waiting.add(message);
}

/** @param {RequestStatistics} statistics @param {Message} message */
function onGrant(statistics, message) {
  statistics.waiting.delete(message);
  statistics.holding.add(message);
  statistics.counts.grants += 1;
  statistics.waits.record(waitOf(message));
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

/** @param {RequestStatistics} statistics @param {Message} message */
function onEnd(statistics, message) {
  if (statistics.holding.delete(message)) {
    statistics.holds.record(holdOf(message));
    const { reason } = /** @type {any} */ (message.error ?? {});
    if (reason === undefined) statistics.counts.releases += 1;
  } else if (statistics.waiting.delete(message)) {
    const { name } = /** @type {any} */ (message.error ?? {});
    statistics.counts[name === 'TimeoutError' ? 'timeouts' : 'aborts'] += 1;
  }
}

module.exports = { ProcessSource };
