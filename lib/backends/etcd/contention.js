'use strict';

const { PRIORITIES } = require('./keys.js');
const { countOf } = require('./transaction.js');

/** @typedef {import('./keys.js').BucketKeys} BucketKeys */
/** @typedef {import('./keys.js').NameKeys} NameKeys */
/** @typedef {import('./name-lock.js').EtcdRequest} EtcdRequest */
/** @typedef {import('./session.js').Session} Session */
/** @typedef {import('../../task-priority.js').TaskPriority} TaskPriority */

/**
 * @typedef {object} ContentionHost
 * @property {(step: () => Promise<void>) => void} addStep  runs it, and handles its error
 * @property {(request: EtcdRequest, priority: TaskPriority | null) => void} onChange
 */

/**
 * The highest priority that waits for a name, for the holders in one session that watch it. It is
 * known from one count of the lists, and from the events of their keys since: a key is put once.
 */
class Contention {
  #bucket;
  #keys;
  #session;
  #host;
  #subscription;
  /** @type {Set<EtcdRequest>} */
  #holders = new Set();
  /** @type {TaskPriority | null} */
  #highest = null;
  /** How many wait, by priority. @type {number[] | undefined} undefined: they are being counted */
  #counts;
  /** The revision of the count. */
  #countedAt = 0n;
  /** @type {import('./watch-stream.js').WatchEvent[]} that may be later than the count */
  #events = [];

  /**
   * The watch begins from now on. The count follows, and has all that the watch does not see.
   * @param {BucketKeys} bucket
   * @param {NameKeys} keys
   * @param {Session} session
   * @param {ContentionHost} host
   */
  constructor(bucket, keys, session, host) {
    this.#bucket = bucket;
    this.#keys = keys;
    this.#session = session;
    this.#host = host;
    const count = () => host.addStep(() => this.#count());
    this.#subscription = session.watches.add({
      ...keys.queue,
      onEvents: (events) => {
        this.#events.push(...events);
        if (this.#counts !== undefined) this.#update(this.#counts);
      },
      onGap: count,
    });
    void this.#subscription.ready.then(count);
  }

  /** @param {EtcdRequest} request  that holds the lock */
  add(request) {
    if (this.#holders.has(request)) return;
    this.#holders.add(request);
    if (this.#highest !== null) this.#host.onChange(request, this.#highest);
  }

  /**
   * @param {EtcdRequest} request
   * @returns {boolean} whether no other holder watches: then this has ended
   */
  remove(request) {
    if (!this.#holders.delete(request) || this.#holders.size > 0) return false;
    this.close();
    return true;
  }

  close() {
    this.#subscription.cancel();
    this.#holders.clear();
  }

  async #count() {
    if (this.#holders.size === 0) return;
    this.#counts = undefined;
    const lists = PRIORITIES.map((_, priority) => countOf(this.#keys.listOf(priority)));
    const { revision, responses } = await this.#session.read(lists);
    this.#countedAt = BigInt(revision);
    this.#counts = responses.map((it) => Number(it.response_range.count));
    this.#update(this.#counts);
  }

  /** @param {number[]} counts */
  #update(counts) {
    for (const { isPut, key, revision } of this.#events.splice(0)) {
      const { priority } = /** @type {import('./keys.js').RequestKey} */ (this.#bucket.parse(key));
      if (BigInt(revision) > this.#countedAt) counts[priority] += isPut ? 1 : -1;
    }
    const highest = PRIORITIES.findLast((_, priority) => counts[priority] > 0) ?? null;
    if (highest === this.#highest) return;
    this.#highest = highest;
    for (const request of this.#holders) this.#host.onChange(request, highest);
  }
}

module.exports = { Contention };
