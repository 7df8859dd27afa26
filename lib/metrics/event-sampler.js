'use strict';

/** @typedef {import('../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('../../types/backend.d.ts').LockEvent} LockEvent */
/** @typedef {import('../../types/backend.d.ts').LockInspection} LockInspection */

/**
 * @typedef {object} Consumer
 * @property {(inspection: LockInspection, isBegin: boolean) => void} seed  what waits and is held
 *   as a window begins, or as the counting begins; nothing older is known
 * @property {(event: LockEvent) => void} follow  happened before the window: not to be counted
 * @property {(event: LockEvent) => void} record
 */

/** So many events are read at a time. */
const MAX_EVENTS = 256;
/** Events of one window. Writing them costs the watched processes about half a millisecond. */
const MAX_IN_WINDOW = 5_000;
/** More between two calls of take() is a corrupted counter that was repaired. */
const MAX_GRANTS = 1_000_000_000n;

/**
 * The events of a bucket for statistics, at a cost that has a bound. While there are few, it reads
 * all. Once it has read as many as a window may have, it pauses until the next window. A pause
 * records no requests, only incidents (losses, deaths, timeouts). Grants are counted exactly all
 * the time, by their tokens.
 */
class EventSampler {
  #consumer;
  /** @type {import('../../types/backend.d.ts').LockBackendWatch} */
  #watch;
  #left = MAX_IN_WINDOW;
  #isPaused = false;
  #isPriming = false;
  /** @type {bigint | undefined} */
  #token;
  /** Whether a part of the time since the last call of take() was not read. */
  #hasGap = false;
  /** @type {unknown} what the watch ended with */
  failure = undefined;

  /**
   * Events from the return of this on are read.
   * @param {LockBackend} backend
   * @param {Consumer} consumer
   */
  constructor(backend, consumer) {
    this.#consumer = consumer;
    this.#watch = backend.watch(undefined);
    this.#token = this.#watch.newestToken?.();
  }

  /** @param {LockInspection} inspection  taken after the construction */
  start(inspection) {
    this.#consumer.seed(inspection, true);
    void this.#read();
  }

  get isPaused() {
    return this.#isPaused;
  }

  /** The next window, unless it pauses. */
  renew() {
    if (!this.#isPaused) this.#left = MAX_IN_WINDOW;
  }

  /**
   * Begins the next window, and ends a pause.
   * @param {() => Promise<T>} inspect
   * @returns {Promise<T>} what `inspect` returned
   * @template {LockInspection} T
   */
  async next(inspect) {
    if (!this.#isPaused || this.#isPriming) {
      this.renew();
      return inspect();
    }
    // Without priming, requests of events read before the seed would count as beginning only now.
    this.#isPriming = true;
    try {
      this.#watch.pause?.(false);
      const inspection = await inspect();
      this.#consumer.seed(inspection, false);
      for (const event of this.#watch.drain?.() ?? []) this.#consumer.follow(event);
      this.#isPaused = false;
      this.renew();
      return inspection;
    } finally {
      this.#isPriming = false;
    }
  }

  /**
   * The events since the last call, up to now: all available events are read first.
   * @returns {{ grants: number | undefined, isSample: boolean }} grants: by their tokens, where
   *   there are such; isSample: not all of the events were read
   */
  take() {
    this.#use(this.#watch.drain?.() ?? []);
    const isSample = this.#hasGap;
    this.#hasGap = this.#isPaused;
    const before = this.#token;
    this.#token = this.#watch.newestToken?.();
    if (before === undefined || this.#token === undefined) return { grants: undefined, isSample };
    const grants = this.#token - before;
    const isPlausible = grants >= 0n && grants < MAX_GRANTS;
    return { grants: isPlausible ? Number(grants) : undefined, isSample };
  }

  close() {
    this.#watch.close();
  }

  async #read() {
    try {
      for (;;) {
        const events = await this.#watch.read(MAX_EVENTS);
        if (events.length === 0) return; // it was closed
        this.#use(events);
      }
    } catch (error) {
      this.failure = error;
    }
  }

  /** @param {LockEvent[]} events */
  #use(events) {
    const use = this.#isPriming ? 'follow' : 'record';
    for (const event of events) {
      // Requests that begin among lost events are unknown: no more times from this window.
      if (event.lost > 0 && !this.#isPriming) this.#pause();
      this.#consumer[use](event);
    }
    this.#left -= events.length;
    if (this.#left <= 0 && !this.#isPriming) this.#pause();
  }

  #pause() {
    if (this.#isPaused || this.#watch.pause === undefined) return;
    this.#isPaused = true;
    this.#hasGap = true;
    this.#watch.pause(true);
  }
}

module.exports = { EventSampler };
