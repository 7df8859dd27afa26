'use strict';

const { Histogram } = require('./histogram.js');

/** @typedef {import('../../types/backend.d.ts').LockEvent} LockEvent */

/** Requests that wait or hold, and are followed to their end; of more the oldest are not timed. */
const MAX_FOLLOWED = 200_000;
const MS_PER_SECOND = 1_000;

/**
 * @typedef {'grants' | 'releases' | 'aborts' | 'timeouts' | 'steals' | 'expiries' | 'deaths'} Kind
 * @typedef {Record<Kind, number>} Counts
 */

/** Which count an event is of. */
const COUNT_OF = /** @type {Partial<Record<LockEvent['type'], keyof Counts>>} */ ({
  granted: 'grants',
  released: 'releases',
  aborted: 'aborts',
  timedout: 'timeouts',
  stolen: 'steals',
  expired: 'expiries',
  died: 'deaths',
});

/** @returns {Counts} */
const noCounts = () => ({
  grants: 0,
  releases: 0,
  aborts: 0,
  timeouts: 0,
  steals: 0,
  expiries: 0,
  deaths: 0,
});

/** The bits of a request's number that events keep. */
const REQUEST_ID_MASK = 0xffff;

/** @param {{ clientId: string, requestId: number }} request  an event or a detail */
const keyOf = ({ clientId, requestId }) => `${clientId} ${requestId & REQUEST_ID_MASK}`;

/**
 * The sums of a watch's events: counts, and histograms of how long requests waited and locks were
 * held.
 */
class LockStatistics {
  counts = noCounts();
  waits;
  holds;
  /** Events that the watch missed. */
  lost = 0;
  /** @type {((seconds: number, kind: 'wait' | 'hold', name: string) => void) | undefined} */
  onTime = undefined;
  /** @type {Map<string, number>} when a request began to wait */
  #queued = new Map();
  /** @type {Map<bigint, number>} when a lock was granted, by its token */
  #granted = new Map();

  /** @param {readonly number[]} [bounds]  of the histograms, in seconds */
  constructor(bounds = undefined) {
    this.waits = new Histogram(bounds);
    this.holds = new Histogram(bounds);
  }

  /**
   * Notes the waiting requests and the held locks of the first moment; earlier ones are unknown.
   * @param {import('../../types/backend.d.ts').LockInspection} inspection
   */
  seed({ held, pending }) {
    this.#queued.clear();
    this.#granted.clear();
    for (const request of pending) this.#follow(this.#queued, keyOf(request), request.since);
    for (const lock of held) {
      const grantedAt = lock.since + lock.waited;
      if (lock.token !== null) this.#follow(this.#granted, lock.token, grantedAt);
    }
  }

  /** @param {LockEvent} event */
  record(event) {
    this.lost += event.lost;
    const count = COUNT_OF[event.type];
    if (count !== undefined) this.counts[count] += 1;
    if (event.type === 'queued') this.#follow(this.#queued, keyOf(event), event.time);
    else if (event.type === 'granted') this.#recordGrant(event);
    else this.#recordEnd(event);
  }

  /**
   * An event from before the counting: what begins with it may end later.
   * @param {LockEvent} event
   */
  follow(event) {
    const { type, token, time } = event;
    if (type === 'queued') return this.#follow(this.#queued, keyOf(event), time);
    this.#queued.delete(keyOf(event));
    if (token === null) return;
    if (type === 'granted') this.#follow(this.#granted, token, time);
    else this.#granted.delete(token);
  }

  /** @param {LockEvent} event */
  #recordGrant(event) {
    const key = keyOf(event);
    const since = this.#queued.get(key);
    this.#queued.delete(key);
    // A request that was granted at once was never queued: it waited for no time.
    const seconds = since === undefined ? 0 : (event.time - since) / MS_PER_SECOND;
    this.waits.record(seconds);
    this.onTime?.(seconds, 'wait', event.name);
    if (event.token !== null) this.#follow(this.#granted, event.token, event.time);
  }

  /** @param {LockEvent} event */
  #recordEnd(event) {
    this.#queued.delete(keyOf(event));
    if (event.token === null) return;
    const since = this.#granted.get(event.token);
    this.#granted.delete(event.token);
    if (since === undefined) return;
    const seconds = (event.time - since) / MS_PER_SECOND;
    this.holds.record(seconds);
    this.onTime?.(seconds, 'hold', event.name);
  }

  /**
   * @template K
   * @param {Map<K, number>} times
   * @param {K} key
   * @param {number} time
   */
  #follow(times, key, time) {
    times.set(key, time);
    if (times.size <= MAX_FOLLOWED) return;
    // The oldest: its end is likely to be among the events that were missed.
    const [oldest] = times.keys();
    times.delete(oldest);
  }
}

module.exports = { LockStatistics, noCounts };
