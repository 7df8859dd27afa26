'use strict';

const { eachOf, filter, runAtOnce } = require('../../sliced.js');
const { UNKNOWN_TOKEN } = require('../enclosing-word.js');
const { strongComponents } = require('./strong-components.js');
const { WaitNode, Resource } = require('./wait-node.js');

/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */
/** @typedef {import('../../../types/backend.d.ts').LockInspection} LockInspection */

/**
 * Whether the enclosing callback awaits a request. Called for each nested request of all agents.
 * @typedef {(request: LockDetail) => boolean} IsAwaited
 */

/**
 * @param {string} clientId
 * @param {number} requestId
 */
const keyOf = (clientId, requestId) => `${clientId} ${requestId}`;

/**
 * Determines which requests and holders are stuck in a consistent view of the lock table. A request
 * waits for the holders of its name. A holder waits for the requests made inside its callback, and
 * for the locks that these became.
 *
 * A search for cycles is not enough, because a request with a limit needs only one of several
 * holders to end. Nodes that can continue are marked, then the nodes that can continue because of
 * these. The others are stuck. Every edge is visited once.
 */
class WaitGraph {
  /** @type {Map<string, Resource>} */
  #resources = new Map();
  /** @type {Map<string, WaitNode>} pending requests */
  #byKey = new Map();
  /** @type {Map<bigint, WaitNode>} held locks */
  #byToken = new Map();
  /** @type {Map<WaitNode | Resource, (WaitNode | Resource)[]>} */
  #components = new Map();
  #canGoOn = /** @type {WaitNode[]} */ ([]);
  #knowsQueues;

  /** @param {boolean} knowsQueues */
  constructor(knowsQueues) {
    this.#knowsQueues = knowsQueues;
  }

  /**
   * Without interruption.
   * @param {LockInspection} inspection
   */
  static of(inspection) {
    return runAtOnce(WaitGraph.build(inspection));
  }

  /**
   * @param {LockInspection} inspection  a consistent view, with pending requests in queue order
   * @param {object} [options]
   * @param {IsAwaited} [options.isAwaited]
   * @param {PossibleLinks} [options.links]  further requests that a holder may wait for
   * @param {boolean} [options.knowsQueues]  without the queues a request counts as waiting for
   *   every holder of its name, so that no stuck one is overlooked
   * @returns {Generator<void, WaitGraph, void>}
   */
  static *build({ held, pending }, { isAwaited = () => true, links, knowsQueues = true } = {}) {
    const graph = new WaitGraph(knowsQueues);
    yield* eachOf(held, (detail) => graph.#addHolder(detail));
    yield* eachOf(pending, (detail) => graph.#addPending(detail, isAwaited));
    yield* eachOf(held, (detail) => graph.#linkHolder(detail));
    if (links !== undefined) yield* links(graph.#byToken, graph.#byKey);
    yield* eachOf(graph.#byToken.values(), (node) => graph.#goOnIfFree(node));
    yield* eachOf(graph.#resources.values(), (resource) => graph.#grantFrom(resource));
    yield* eachOf(graph.#canGoOn, (node) => graph.#release(node)); // the list grows
    const stuck = yield* filter(graph.#byKey.values(), ({ isStuck }) => isStuck);
    graph.#components = yield* strongComponents(
      /** @type {Iterable<WaitNode | Resource>} */ (stuck),
      (node) => node.next(),
    );
    return graph;
  }

  /**
   * Finds the pending request with this id of an agent.
   * @param {string} clientId
   * @param {number} requestId
   */
  find(clientId, requestId) {
    return this.#byKey.get(keyOf(clientId, requestId))?.detail;
  }

  /** @param {LockDetail} request  pending */
  isStuck(request) {
    return this.#nodeOf(request).isStuck;
  }

  /**
   * Returns the shortest cycle through this request: each request waits for a lock in whose
   * callback the next was made.
   * @param {LockDetail} start  pending
   * @returns {Generator<void, LockDetail[], void>} from that request on; empty when it is in no
   *   such cycle
   */
  *findCycle(start) {
    const first = this.#nodeOf(start);
    if (!first.isStuck) return [];
    /** @type {Map<WaitNode | Resource, WaitNode | Resource>} the predecessor of each node */
    const from = new Map();
    /** @type {(WaitNode | Resource)[]} */
    const queue = [first];
    for (const node of queue) {
      for (const next of node.next()) {
        if (next === first) return pathBack(from, first, node);
        if (from.has(next)) continue;
        from.set(next, node);
        queue.push(next);
      }
      yield;
    }
    return [];
  }

  /**
   * The same, without interruption.
   * @param {LockDetail} start
   */
  cycleThrough(start) {
    return runAtOnce(this.findCycle(start));
  }

  /**
   * Returns all requests that this one waits for and that wait for it, directly or indirectly. One
   * of them has to give way; the result is the same for each of them.
   * @param {LockDetail} request  pending
   * @returns {LockDetail[]} itself included, the same array for all members; empty when it is in no
   *   cycle
   */
  knotOf(request) {
    const component = this.#components.get(this.#nodeOf(request)) ?? [];
    if (component.length < 2) return [];
    let knot = this.#knots.get(component);
    if (knot === undefined) {
      knot = pendingOf(component);
      this.#knots.set(component, knot);
    }
    return knot;
  }

  /** @type {Map<object, LockDetail[]>} by component */
  #knots = new Map();

  /**
   * The locks that a knot holds.
   * @param {LockDetail} request  pending
   * @returns {LockDetail[]}
   */
  locksOfKnot(request) {
    const locks = [];
    for (const node of this.#components.get(this.#nodeOf(request)) ?? []) {
      if (node instanceof WaitNode && node.isHolder) locks.push(node.detail);
    }
    return locks;
  }

  /**
   * Whether a held lock may wait for a request. One whose lock has ended waits like any other, but
   * is in no cycle: its end would let others go on by chance at most.
   * @param {LockDetail} request
   */
  isAwaited({ enclosingToken: token }) {
    return token !== null && (token === UNKNOWN_TOKEN || this.#byToken.has(token));
  }

  /** @param {LockDetail} request */
  #nodeOf({ clientId, requestId }) {
    return /** @type {WaitNode} */ (this.#byKey.get(keyOf(clientId, requestId)));
  }

  /** @param {string} name */
  #resourceOf(name) {
    let resource = this.#resources.get(name);
    if (resource === undefined) {
      resource = new Resource(this.#knowsQueues);
      this.#resources.set(name, resource);
    }
    return resource;
  }

  /** @param {LockDetail} detail */
  #addHolder(detail) {
    const node = new WaitNode(detail, this.#resourceOf(detail.name));
    node.resource.addHolder(node);
    this.#byToken.set(/** @type {bigint} */ (detail.token), node);
  }

  /**
   * @param {LockDetail} detail
   * @param {IsAwaited} isAwaited
   */
  #addPending(detail, isAwaited) {
    const node = new WaitNode(detail, this.#resourceOf(detail.name));
    node.resource.queue.push(node);
    this.#byKey.set(keyOf(detail.clientId, detail.requestId), node);
    if (detail.enclosingToken === null || !isAwaited(detail)) return;
    this.#byToken.get(detail.enclosingToken)?.waitFor(node);
  }

  /**
   * If an enclosing lock was released, its callback did not wait for the nested requests.
   * @param {LockDetail} detail  held
   */
  #linkHolder({ token, enclosingToken }) {
    const node = /** @type {WaitNode} */ (this.#byToken.get(/** @type {bigint} */ (token)));
    if (enclosingToken !== null) this.#byToken.get(enclosingToken)?.waitFor(node);
  }

  /**
   * A holder with a hold limit ends in any case.
   * @param {WaitNode} holder
   */
  #goOnIfFree(holder) {
    if (holder.waitsFor.length === 0 || holder.detail.holdLimit > 0) this.#canGoOn.push(holder);
  }

  /** @param {Resource} resource */
  #grantFrom(resource) {
    for (const request of resource.takeGrantable()) this.#canGoOn.push(request);
  }

  /** @param {WaitNode} node  that can continue */
  #release(node) {
    if (!node.isStuck) return;
    node.isStuck = false;
    for (const waiting of node.waitedForBy) {
      waiting.missing -= 1;
      if (waiting.missing === 0) this.#canGoOn.push(waiting);
    }
    if (!node.isHolder) return;
    node.resource.removeHolder(node);
    this.#grantFrom(node.resource);
  }
}

/**
 * @typedef {(held: Map<bigint, WaitNode>, pending: Map<string, WaitNode>) =>
 *   Generator<void, void, void>} PossibleLinks
 */

/**
 * @param {Map<WaitNode | Resource, WaitNode | Resource>} from
 * @param {WaitNode} start
 * @param {WaitNode | Resource} end
 */
function pathBack(from, start, end) {
  const path = [end];
  for (let at = end; at !== start; path.push(at)) {
    at = /** @type {WaitNode | Resource} */ (from.get(at));
  }
  return pendingOf(path.reverse());
}

/**
 * @param {(WaitNode | Resource)[]} nodes
 * @returns {LockDetail[]}
 */
function pendingOf(nodes) {
  const details = [];
  for (const node of nodes) {
    if (node instanceof WaitNode && !node.isHolder) details.push(node.detail);
  }
  return details;
}

module.exports = { WaitGraph };
