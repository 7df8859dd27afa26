'use strict';

/** Upper bounds in seconds: locks are held for microseconds, and sometimes for hours. */
const DEFAULT_BOUNDS = /** @type {const} */ ([
  0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 600,
]);

/** @typedef {{ bounds: number[], counts: number[], sum: number, count: number }} HistogramData */

/** How often something took how long. */
class Histogram {
  #bounds;
  #counts;
  #sum = 0;

  /** @param {readonly number[]} [bounds]  in seconds, rising */
  constructor(bounds = DEFAULT_BOUNDS) {
    this.#bounds = [...bounds];
    this.#counts = new Array(bounds.length + 1).fill(0);
  }

  /** @param {number} seconds */
  record(seconds) {
    const value = Math.max(0, seconds); // the clock may have been set back meanwhile
    const at = this.#bounds.findIndex((bound) => value <= bound);
    this.#counts[at === -1 ? this.#bounds.length : at] += 1;
    this.#sum += value;
  }

  /** @returns {HistogramData} counts: by bound, not cumulated; the last is of what is above all */
  toData() {
    const counts = [...this.#counts];
    const count = counts.reduce((total, one) => total + one, 0);
    return { bounds: [...this.#bounds], counts, sum: this.#sum, count };
  }
}

/** @typedef {import('../../types/backend.d.ts').LockEvent} LockEvent */

/** Requests that wait or hold, and are followed to their end; of more the oldest are not timed. */
const MAX_FOLLOWED = 200_000;
const MS_PER_SECOND = 1_000;

/**
 * @typedef {object} Counts
 * @property {number} grants
 * @property {number} overtakes
 * @property {number} releases
 * @property {number} aborts
 * @property {number} timeouts
 * @property {number} steals
 * @property {number} expiries
 * @property {number} deaths
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
  overtakes: 0,
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
  /** Held locks whose grants were not counted, by token: their releases are not counted either. */
  #uncounted = new Set();

  /** @param {readonly number[]} [bounds]  of the histograms, in seconds */
  constructor(bounds = undefined) {
    this.waits = new Histogram(bounds);
    this.holds = new Histogram(bounds);
  }

  /**
   * Notes the waiting requests and the held locks of the first moment; earlier ones are unknown.
   * @param {import('../../types/backend.d.ts').LockInspection} inspection
   * @param {boolean} [isBegin]  the counting begins: what is held was granted before
   */
  seed({ held, pending }, isBegin = false) {
    if (isBegin) this.#uncounted = new Set(held.map(({ token }) => token));
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
    // A grant between the begin and the inspection is counted, and so is its release.
    const isUncounted = this.#uncounted.delete(event.token) && event.type === 'released';
    if (count !== undefined && !isUncounted) this.counts[count] += 1;
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
    this.#uncounted.delete(token);
    if (type === 'granted') this.#follow(this.#granted, token, time);
    else this.#granted.delete(token);
  }

  /** @param {LockEvent} event */
  #recordGrant(event) {
    this.counts.overtakes += event.overtakes;
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

/** @param {Counts} counts */
const losses = ({ steals, expiries, deaths }) => steals + expiries + deaths;

/** Counts of all that happened, from counts of what was seen. */
class CountEstimate {
  totals = noCounts();
  #seen = noCounts();

  /**
   * The counts of events since the last call.
   * @param {Counts} seen  since the beginning
   */
  deltas(seen) {
    const deltas = noCounts();
    for (const kind of /** @type {(keyof Counts)[]} */ (Object.keys(deltas))) {
      deltas[kind] = seen[kind] - this.#seen[kind];
    }
    this.#seen = { ...seen };
    return deltas;
  }

  /**
   * Adds up. A paused watch sees no grants, overtakes, releases and aborts; it sees all others.
   * @param {Counts} deltas  of deltas()
   * @param {number} factor  how many grants there were for each that was seen
   * @param {{ grants: number | undefined, isSample: boolean }} taken  grants: known exactly
   */
  add(deltas, factor, { grants, isSample }) {
    deltas.aborts = Math.round(deltas.aborts * factor);
    deltas.overtakes = Math.round(deltas.overtakes * factor);
    deltas.grants = grants ?? Math.round(deltas.grants * factor);
    if (isSample) deltas.releases = Math.max(deltas.releases, this.#estimateReleases(deltas));
    // A release of this period may be among the estimated releases of an earlier one.
    const unreleased = this.totals.grants + deltas.grants - this.totals.releases;
    deltas.releases = Math.min(deltas.releases, unreleased);
    for (const kind of /** @type {(keyof Counts)[]} */ (Object.keys(deltas))) {
      this.totals[kind] += deltas[kind];
    }
    return deltas;
  }

  /**
   * Each grant ends once, by a release or by a loss, and each loss was seen. So a period releases
   * as many locks as it grants, and all periods together release no more than they grant.
   * @param {Counts} deltas
   */
  #estimateReleases(deltas) {
    const inPeriod = deltas.grants - losses(deltas);
    const inAll = this.totals.grants - losses(this.totals) - this.totals.releases + inPeriod;
    return Math.min(inPeriod, inAll);
  }
}

/**
 * How many events there were for each that was seen.
 * @param {number} seen  grants
 * @param {{ grants: number | undefined, isSample: boolean }} taken
 */
const factorOf = (seen, { grants, isSample }) =>
  isSample && grants !== undefined && seen > 0 ? Math.max(1, grants / seen) : 1;

/**
 * @template {{ name: string }} L
 * @param {readonly L[]} requests
 */
function groupByName(requests) {
  /** @type {Map<string, L[]>} */
  const groups = new Map();
  for (const lock of requests) {
    const group = groups.get(lock.name);
    if (group === undefined) groups.set(lock.name, [lock]);
    else group.push(lock);
  }
  return groups;
}

module.exports = {
  DEFAULT_BOUNDS,
  Histogram,
  LockStatistics,
  groupByName,
  noCounts,
  CountEstimate,
  factorOf,
};
