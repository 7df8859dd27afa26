'use strict';

const { isGrantable } = require('../grantable.js');

/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */
/** @typedef {import('../../../types/backend.d.ts').LockInspection} LockInspection */

/** @param {LockDetail[]} details */
const groupByName = (details) => {
  /** @type {Map<string, LockDetail[]>} */
  const groups = new Map();
  for (const detail of details) {
    const group = groups.get(detail.name);
    if (group === undefined) groups.set(detail.name, [detail]);
    else group.push(detail);
  }
  return groups;
};

/**
 * Who can never go on, at one moment. A request waits for holders of its name; a holder waits for
 * every pending request that was made inside its callback, as if the callback awaited it.
 *
 * A request with a limit needs one of several holders to end, so this is no search for a cycle
 * alone: whoever can go on is marked, then whoever can go on because of that, until nothing
 * changes. The others are stuck.
 */
class WaitGraph {
  #held;
  #pending;
  /** @type {Map<LockDetail, LockDetail[]>} a held lock's pending requests, made inside it */
  #inside = new Map();
  /** @type {Set<LockDetail>} held locks that cannot end */
  #stuckHolders;
  /** @type {Set<LockDetail>} pending requests that cannot be granted */
  #stuckRequests;

  /** @param {LockInspection} inspection  one consistent view, pending in the order of the queues */
  constructor({ held, pending }) {
    this.#held = groupByName(held);
    this.#pending = groupByName(pending);
    this.#findInside(held, pending);
    // Whose hold is limited ends whatever happens.
    this.#stuckHolders = new Set(held.filter((lock) => lock.holdLimit === 0));
    this.#stuckRequests = new Set(pending);
    while (this.#findMoreThatGoOn());
  }

  /**
   * The pending request that an agent knows by this number.
   * @param {string} clientId
   * @param {number} requestId
   */
  find(clientId, requestId) {
    for (const queue of this.#pending.values()) {
      for (const request of queue) {
        if (request.requestId === requestId && request.clientId === clientId) return request;
      }
    }
    return undefined;
  }

  /** @param {LockDetail} request  pending */
  isStuck(request) {
    return this.#stuckRequests.has(request);
  }

  /**
   * The shortest circle of requests through this one, each of which waits for a lock in whose
   * callback the next was made.
   * @param {LockDetail} start  pending
   * @returns {LockDetail[]} from that request on; empty when it is in no such circle
   */
  cycleThrough(start) {
    /** @type {Map<LockDetail, LockDetail>} who was come from */
    const from = new Map();
    const queue = [start];
    for (const request of queue) {
      for (const next of this.#waitsFor(request)) {
        if (next === start) return this.#pathBack(from, start, request);
        if (from.has(next)) continue;
        from.set(next, request);
        queue.push(next);
      }
    }
    return [];
  }

  /**
   * All that wait for this request and that it waits for, through any number of others: one of them
   * has to give way, and each of them finds the same ones here.
   * @param {LockDetail} start  pending
   * @returns {LockDetail[]} itself among them; empty when it is in no such circle
   */
  knotOf(start) {
    /** @type {Map<LockDetail, LockDetail[]>} who waits for whom, of all that can be reached */
    const waiters = new Map();
    const reached = new Set([start]);
    for (const request of reached) {
      for (const next of this.#waitsFor(request)) {
        waiters.set(next, [...(waiters.get(next) ?? []), request]);
        reached.add(next);
      }
    }
    if (!waiters.has(start)) return [];
    const knot = new Set([start]);
    for (const request of knot) for (const waiter of waiters.get(request) ?? []) knot.add(waiter);
    return [...knot];
  }

  /**
   * @param {Map<LockDetail, LockDetail>} from
   * @param {LockDetail} start
   * @param {LockDetail} end
   */
  #pathBack(from, start, end) {
    const path = [end];
    for (let at = end; at !== start; path.push(at)) at = /** @type {LockDetail} */ (from.get(at));
    return path.reverse();
  }

  /**
   * The stuck requests inside the stuck holders of a request's name.
   * @param {LockDetail} request
   */
  *#waitsFor(request) {
    for (const holder of this.#stuckHoldersOf(request.name)) {
      for (const inner of this.#inside.get(holder) ?? []) {
        if (this.#stuckRequests.has(inner)) yield inner;
      }
    }
  }

  /** @param {string} name */
  #stuckHoldersOf(name) {
    return (this.#held.get(name) ?? []).filter((holder) => this.#stuckHolders.has(holder));
  }

  /**
   * A request is inside all locks that its call chain holds. Where one on the way was released, its
   * callback did not wait for the request.
   * @param {LockDetail[]} held
   * @param {LockDetail[]} pending
   */
  #findInside(held, pending) {
    const byToken = new Map(held.map((lock) => [lock.token, lock]));
    for (const request of pending) {
      /** @type {Set<LockDetail>} no circle, whatever a damaged table says */
      const chain = new Set();
      let outer = byToken.get(request.inside);
      while (outer !== undefined && !chain.has(outer)) {
        chain.add(outer);
        outer = byToken.get(outer.inside);
      }
      for (const lock of chain) {
        const requests = this.#inside.get(lock);
        if (requests === undefined) this.#inside.set(lock, [request]);
        else requests.push(request);
      }
    }
  }

  /** @returns {boolean} whether somebody was found */
  #findMoreThatGoOn() {
    let isAnyFound = false;
    for (const holder of this.#stuckHolders) {
      const inside = this.#inside.get(holder) ?? [];
      if (inside.some((request) => this.#stuckRequests.has(request))) continue;
      this.#stuckHolders.delete(holder);
      isAnyFound = true;
    }
    for (const [name, queue] of this.#pending) {
      const holders = this.#stuckHoldersOf(name);
      for (const request of queue) {
        if (!isGrantable(request, holders)) break;
        if (this.#stuckRequests.delete(request)) isAnyFound = true;
      }
    }
    return isAnyFound;
  }
}

module.exports = { WaitGraph };
