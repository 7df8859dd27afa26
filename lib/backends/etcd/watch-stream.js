'use strict';

const { setTimeout } = require('../../time.js');
const { Backoff } = require('../remote/backoff.js');
const { bytes, following, textOf } = require('./transaction.js');

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./etcd-client.js').EtcdClient} EtcdClient */

/** @typedef {object} WatchEvent
 * @property {boolean} isPut
 * @property {string} key
 * @property {string} value
 * @property {string} revision
 * @property {{ value: string, created: string } | undefined} previous
 */

/**
 * @typedef {object} Watched  what a watch is for
 * @property {string} key
 * @property {string} [end]  of the range; without it the key alone
 * @property {string} [from]  the first revision; without it from now on
 * @property {'puts' | 'removals'} [only]  of these; without it of both
 * @property {boolean} [withPrevious]
 * @property {(events: WatchEvent[]) => void} onEvents  all of one revision come together
 * @property {() => void} [onGap]  events were compacted away: the watched keys must be read again
 */

/** The events that are left out. */
const FILTERS = { puts: [1], removals: [0] };
const NOTHING = [...FILTERS.puts, ...FILTERS.removals];
/** The number in answers about the stream, and about a watch that was refused. */
const NO_WATCH = -1;

/** One watch of a stream. */
class Subscription {
  isReady = false;
  /** A gap is to be reported as soon as the watch is there again. */
  hasGap = false;
  /** @type {() => void} */
  #resolve = () => {};
  ready;

  /**
   * @param {number} id
   * @param {Watched} watched
   * @param {(id: number) => void} cancel
   */
  constructor(id, watched, cancel) {
    this.id = id;
    this.watched = watched;
    /** The next revision to be reported; '0': from now on. */
    this.next = watched.from ?? '0';
    this.cancel = () => cancel(this.id);
    /** When the cluster has answered for the first time. */
    this.ready = new Promise((resolve) => {
      this.#resolve = () => resolve(undefined);
    });
  }

  get request() {
    const { key, end, only, withPrevious = false } = this.watched;
    return {
      create_request: {
        key: bytes(key),
        range_end: end === undefined ? Buffer.alloc(0) : bytes(end),
        start_revision: this.next,
        filters: only === undefined ? [] : FILTERS[only],
        prev_kv: withPrevious,
        watch_id: String(this.id),
      },
    };
  }

  /** @param {string} revision */
  onCreated(revision) {
    if (this.next === '0') this.next = following(revision);
    this.isReady = true;
    this.#resolve();
    if (!this.hasGap) return;
    this.hasGap = false;
    this.watched.onGap?.();
  }

  /** @param {any[]} events */
  onEvents(events) {
    if (events.length === 0) return;
    this.next = following(events[events.length - 1].kv.mod_revision);
    this.watched.onEvents(events.map(toWatchEvent));
  }
}

/** @param {any} event @returns {WatchEvent} */
function toWatchEvent({ type, kv, prev_kv: previous }) {
  return {
    isPut: type === 0,
    key: textOf(kv.key),
    value: textOf(kv.value),
    revision: kv.mod_revision,
    previous: previous
      ? { value: textOf(previous.value), created: previous.create_revision }
      : undefined,
  };
}

/**
 * All watches of a session, over one stream that is opened again when it ends: each watch continues
 * after the last revision that it has reported.
 */
class WatchStream {
  #client;
  /** @type {any} */
  #stream;
  /** @type {Connection | undefined} that it is of */
  #connection;
  #isClosed = false;
  #isOpening = false;
  /** So often a question has been sent that only a living stream answers. */
  #unanswered = 0;
  /** So many questions may have no answer; more after each stream that gave none. */
  #patience = 1;
  #backoff = new Backoff();
  #lastId = 0;
  /** @type {Map<number, Subscription>} */
  #subscriptions = new Map();
  #counts;

  /**
   * @param {EtcdClient} client
   * @param {{ reconnects: number, events: number, messages: number, gaps: number }} counts
   */
  constructor(client, counts) {
    this.#client = client;
    this.#counts = counts;
  }

  /** @param {Watched} watched */
  add(watched) {
    const subscription = new Subscription(0, watched, (id) => this.#cancel(id));
    this.#number(subscription);
    if (this.#stream === undefined) this.#open();
    else this.#write(subscription.request);
    return subscription;
  }

  /** @param {Subscription} subscription */
  #number(subscription) {
    this.#lastId += 1;
    subscription.id = this.#lastId;
    this.#subscriptions.set(subscription.id, subscription);
  }

  /** Asks whether the stream lives; opens another where it had no answer for too long. */
  check() {
    if (this.#stream === undefined || this.#subscriptions.size === 0) return;
    if (this.#unanswered >= this.#patience) void this.#moveAway(this.#stream);
    this.#unanswered += 1;
    this.#probe();
  }

  /**
   * Makes a watch that sees nothing, and ends it: both are answered at once, after all that was
   * asked for before. A request for progress is not, as long as another watch of the stream has to
   * catch up (since etcd 3.4.25 and 3.5.8) or begins at a revision that is still to come (since
   * 3.4.38, 3.5.22 and 3.6.2).
   */
  #probe() {
    const [{ watched }] = this.#subscriptions.values();
    this.#lastId += 1;
    const id = { watch_id: String(this.#lastId) };
    this.#write({ create_request: { key: bytes(watched.key), filters: NOTHING, ...id } });
    this.#write({ cancel_request: id });
  }

  /**
   * If answers are late, another stream's answers would be, too: it gets more time.
   * @param {any} stream
   */
  async #moveAway(stream) {
    const connection = /** @type {Connection} */ (this.#connection);
    await this.#client.replace(connection);
    if (this.#stream !== stream || this.#unanswered === 0) return;
    if (this.#client.isClosed || this.#client.connection === connection) return;
    this.#patience *= 2;
    this.#reopen(stream);
  }

  close() {
    this.#isClosed = true;
    this.#stream?.cancel();
    this.#stream = undefined;
    this.#subscriptions.clear();
  }

  /** @param {number} id */
  #cancel(id) {
    if (!this.#subscriptions.delete(id) || this.#stream === undefined) return;
    this.#write({ cancel_request: { watch_id: String(id) } });
  }

  /** @param {object} message */
  #write(message) {
    this.#counts.messages += 1;
    this.#stream.write(message);
  }

  async #open() {
    if (this.#isOpening || this.#isClosed || this.#stream !== undefined) return;
    this.#isOpening = true;
    try {
      const opening = this.#client.openWatchStream();
      const { stream, connection } = await opening.finally(() => (this.#isOpening = false));
      this.#connection = connection;
      if (this.#isClosed) stream.cancel();
      else this.#start(stream);
    } catch {
      this.#openLater();
    }
  }

  /** @param {any} stream */
  #start(stream) {
    this.#stream = stream;
    this.#unanswered = 0;
    stream.on('data', (/** @type {any} */ response) => {
      if (this.#stream === stream) this.#onResponse(response);
    });
    stream.on('error', () => this.#onEnd(stream));
    stream.on('end', () => this.#onEnd(stream));
    for (const subscription of this.#subscriptions.values()) {
      subscription.isReady = false;
      this.#write(subscription.request);
    }
  }

  /** @param {any} stream */
  #onEnd(stream) {
    if (this.#stream !== stream) return;
    this.#client.leave(/** @type {Connection} */ (this.#connection));
    this.#reopen(stream);
  }

  /** @param {any} stream */
  #reopen(stream) {
    this.#counts.reconnects += 1;
    this.#stream = undefined;
    stream.cancel();
    this.#openLater();
  }

  /** With a random part: sessions that lost the same member do not come back at once. */
  #openLater() {
    if (this.#isClosed) return;
    setTimeout(() => this.#open(), this.#backoff.next());
  }

  /** @param {any} response */
  #onResponse(response) {
    this.#unanswered = 0;
    this.#patience = 1;
    if (!response.canceled) this.#backoff = new Backoff();
    const id = Number(response.watch_id);
    const subscription = this.#subscriptions.get(id);
    if (id === NO_WATCH && response.canceled && !this.#isRefusedProbe()) this.#renew();
    if (subscription === undefined) return;
    if (response.canceled) this.#onCanceled(subscription, response);
    else if (response.created) subscription.onCreated(response.header.revision);
    this.#counts.events += response.events.length;
    subscription.onEvents(response.events);
  }

  /** A probe may be refused after rights were withdrawn; the existing watches continue. */
  #isRefusedProbe() {
    return [...this.#subscriptions.values()].every(({ isReady }) => isReady);
  }

  /**
   * @param {Subscription} subscription
   * @param {any} response
   */
  #onCanceled(subscription, response) {
    if (response.compact_revision !== '0') {
      this.#counts.gaps += 1;
      subscription.hasGap = true;
      subscription.next = '0';
      // The server knows the number of a watch that it has ended, and refuses it.
      this.#subscriptions.delete(subscription.id);
      subscription.isReady = false;
      this.#number(subscription);
      this.#write(subscription.request);
      return;
    }
    this.#renew();
  }

  /** Not allowed: the token has expired, or the rights are gone. */
  #renew() {
    this.#client.forgetToken();
    this.#reopen(this.#stream);
  }
}

module.exports = { WatchStream };
