'use strict';

const { isGrantable } = require('../grantable.js');
const { findStrongComponents } = require('./strong-components.js');

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
 * @param {string} clientId
 * @param {number} requestId
 */
const keyOf = (clientId, requestId) => `${clientId} ${requestId}`;

/** @typedef {LockDetail | string} Node  a request, the name that it asks for, a held lock */

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
  /** @type {Map<string, LockDetail>} */
  #byKey;
  /** @type {Map<Node, Node[]>} */
  #components;

  /** @param {LockInspection} inspection  one consistent view, pending in the order of the queues */
  constructor({ held, pending }) {
    this.#held = groupByName(held);
    this.#pending = groupByName(pending);
    this.#byKey = new Map(pending.map((one) => [keyOf(one.clientId, one.requestId), one]));
    this.#findInside(held, pending);
    // Whose hold is limited ends whatever happens.
    this.#stuckHolders = new Set(held.filter((lock) => lock.holdLimit === 0));
    this.#stuckRequests = new Set(pending);
    while (this.#findMoreThatGoOn());
    /** @type {Iterable<Node>} */
    const starts = this.#stuckRequests;
    this.#components = findStrongComponents(starts, (node) => this.#next(node));
  }

  /**
   * The pending request that an agent knows by this number.
   * @param {string} clientId
   * @param {number} requestId
   */
  find(clientId, requestId) {
    return this.#byKey.get(keyOf(clientId, requestId));
  }

  /** @param {LockDetail} request  pending */
  isStuck(request) {
    return this.#stuckRequests.has(request);
  }

  /**
   * The shortest cycle of requests through this one, each of which waits for a lock in whose
   * callback the next was made.
   * @param {LockDetail} start  pending
   * @returns {LockDetail[]} from that request on; empty when it is in no such cycle
   */
  cycleThrough(start) {
    if (!this.isStuck(start)) return [];
    /** @type {Map<Node, Node>} who was come from */
    const from = new Map();
    /** @type {Node[]} */
    const queue = [start];
    for (const node of queue) {
      for (const next of this.#next(node)) {
        if (next === start) return this.#pathBack(from, start, node);
        if (from.has(next)) continue;
        from.set(next, node);
        queue.push(next);
      }
    }
    return [];
  }

  /**
   * All that wait for this request and that it waits for, through any number of others: one of them
   * has to give way, and each of them finds the same ones here.
   * @param {LockDetail} request  pending
   * @returns {LockDetail[]} itself among them; empty when it is in no such cycle
   */
  knotOf(request) {
    const component = this.#components.get(request) ?? [];
    return component.length < 2 ? [] : this.#requestsOf(component);
  }

  /**
   * @param {Map<Node, Node>} from
   * @param {Node} start
   * @param {Node} end
   */
  #pathBack(from, start, end) {
    const path = [end];
    for (let at = end; at !== start; path.push(at)) at = /** @type {Node} */ (from.get(at));
    return this.#requestsOf(path.reverse());
  }

  /**
   * @param {Node[]} nodes
   * @returns {LockDetail[]}
   */
  #requestsOf(nodes) {
    return /** @type {LockDetail[]} */ (
      nodes.filter((node) => this.#stuckRequests.has(/** @type {any} */ (node)))
    );
  }

  /**
   * A request waits for its name, that for its stuck holders, those for the stuck requests inside.
   * @param {Node} node
   * @returns {Node[]}
   */
  #next(node) {
    if (typeof node === 'string') return this.#stuckHoldersOf(node);
    if (this.#stuckRequests.has(node)) return [node.name];
    return (this.#inside.get(node) ?? []).filter((request) => this.#stuckRequests.has(request));
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
      /** @type {Set<LockDetail>} no cycle, whatever a damaged table says */
      const chain = new Set();
      let outer = byToken.get(request.enclosingToken);
      while (outer !== undefined && !chain.has(outer)) {
        chain.add(outer);
        outer = byToken.get(outer.enclosingToken);
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
