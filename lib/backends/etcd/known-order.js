'use strict';

/** @typedef {import('./queue-state.js').Waiter} Waiter */

/** So many of those that follow a request are of use at once. */
const NEXT = 64;

/**
 * The front of a name's queue, as it was read last. Requests only leave, so it stays true except
 * for the requests that are gone: no request can have come in between. A read costs the more, the
 * longer the queue is, so one read serves many hand-offs.
 */
class KnownOrder {
  /** @type {Waiter[]} */
  #waiters = [];
  /** @type {Map<string, number>} places, by id: another request may have it meanwhile */
  #places = new Map();

  /** @param {Waiter[]} waiters  the first of the queue, without a gap */
  learn(waiters) {
    this.#waiters = waiters;
    this.#places = new Map(waiters.map(({ id }, place) => [id, place]));
  }

  /**
   * @param {{ id: string, created: string }} request
   * @param {Waiter[]} told  those that follow it, as another session says
   * @returns {Waiter[]} those that follow it, as far as known
   */
  after(request, told) {
    const place = this.#placeOf(request) ?? this.#waiters.length;
    const own = this.#waiters.slice(place + 1, place + 1 + NEXT);
    return own.length > told.length ? own : told;
  }

  /**
   * The requests that were before a request when the queue was read.
   * @param {{ id: string, created: string }} request  that waits
   * @returns {{ waiters: Waiter[], isAll: boolean }} isAll: there was nothing else before it
   */
  before(request) {
    const place = this.#placeOf(request);
    if (place !== undefined) return { waiters: this.#waiters.slice(0, place), isAll: true };
    const last = this.#waiters.at(-1);
    const isBehind = last !== undefined && BigInt(last.created) < BigInt(request.created);
    return { waiters: isBehind ? this.#waiters : [], isAll: false };
  }

  /** @param {{ id: string, created: string }} request */
  #placeOf({ id, created }) {
    const place = this.#places.get(id);
    return place !== undefined && this.#waiters[place].created === created ? place : undefined;
  }
}

module.exports = { KnownOrder };
