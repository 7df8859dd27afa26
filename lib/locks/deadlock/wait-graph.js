'use strict';

const { runAtOnce } = require('../../sliced.js');
const { strongComponents } = require('./strong-components.js');
const { WaitNode, Resource } = require('./wait-node.js');

/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */
/** @typedef {import('../../../types/backend.d.ts').LockInspection} LockInspection */

/**
 * Whether the callback that a request was made inside waits for it. Asked for each request that was
 * made inside one, of all agents.
 * @typedef {(request: LockDetail) => boolean} IsAwaited
 */

const STEPS_PER_YIELD = 64;

/**
 * @param {string} clientId
 * @param {number} requestId
 */
const keyOf = (clientId, requestId) => `${clientId} ${requestId}`;

/**
 * Who can never go on, at one moment. A request waits for holders of its name; a holder waits for
 * the requests that were made inside its callback, and for the locks that these became.
 *
 * A request with a limit needs one of several holders to end, so this is no search for a cycle
 * alone: whoever can go on is marked, then whoever can go on because of that. The others are stuck.
 * Every edge is looked at once.
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
   * In one piece.
   * @param {LockInspection} inspection
   */
  static of(inspection) {
    return runAtOnce(WaitGraph.build(inspection));
  }

  /**
   * @param {LockInspection} inspection  one consistent view, pending in the order of the queues
   * @param {object} [options]
   * @param {IsAwaited} [options.isAwaited]
   * @param {PossibleLinks} [options.links]  what else a holder may wait for
   * @param {boolean} [options.knowsQueues]  or else: what waits is taken to wait for every holder
   *   of its name, so that nothing that is stuck is taken for going on
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
    yield* eachOf(graph.#canGoOn, (node) => graph.#release(node)); // it grows meanwhile
    const stuck = [...graph.#byKey.values()].filter(({ isStuck }) => isStuck);
    graph.#components = yield* strongComponents(
      /** @type {Iterable<WaitNode | Resource>} */ (stuck),
      (node) => node.next(),
    );
    return graph;
  }

  /**
   * The pending request that an agent knows by this number.
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
   * The shortest cycle of requests through this one, each of which waits for a lock in whose
   * callback the next was made.
   * @param {LockDetail} start  pending
   * @returns {LockDetail[]} from that request on; empty when it is in no such cycle
   */
  cycleThrough(start) {
    const first = this.#nodeOf(start);
    if (!first.isStuck) return [];
    /** @type {Map<WaitNode | Resource, WaitNode | Resource>} who was come from */
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
    }
    return [];
  }

  /**
   * All that wait for this request and that it waits for, through any number of others: one of them
   * has to give way, and each of them finds the same ones here.
   * @param {LockDetail} request  pending
   * @returns {LockDetail[]} itself among them, the same array for all of them; empty when it is in
   *   no such cycle
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
   * The tokens of the locks that a knot holds.
   * @param {LockDetail} request  pending
   * @returns {bigint[]}
   */
  tokensOfKnot(request) {
    const tokens = [];
    for (const node of this.#components.get(this.#nodeOf(request)) ?? []) {
      if (node instanceof WaitNode && node.detail.token !== null) tokens.push(node.detail.token);
    }
    return tokens;
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
   * Where a lock on the way was released, its callback did not wait for what is inside.
   * @param {LockDetail} detail  held
   */
  #linkHolder({ token, enclosingToken }) {
    const node = /** @type {WaitNode} */ (this.#byToken.get(/** @type {bigint} */ (token)));
    if (enclosingToken !== null) this.#byToken.get(enclosingToken)?.waitFor(node);
  }

  /**
   * Whose hold is limited ends whatever happens.
   * @param {WaitNode} holder
   */
  #goOnIfFree(holder) {
    if (holder.waitsFor.length === 0 || holder.detail.holdLimit > 0) this.#canGoOn.push(holder);
  }

  /** @param {Resource} resource */
  #grantFrom(resource) {
    for (const request of resource.takeGrantable()) this.#canGoOn.push(request);
  }

  /** @param {WaitNode} node  that can go on */
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
 * @template T
 * @param {Iterable<T>} items
 * @param {(item: T) => void} visit
 */
function* eachOf(items, visit) {
  let steps = 0;
  for (const item of items) {
    visit(item);
    steps += 1;
    if (steps % STEPS_PER_YIELD === 0) yield;
  }
}

/**
 * @template T
 * @param {T[]} items
 * @param {(item: T) => boolean} isWanted
 * @returns {Generator<void, T[], void>}
 */
function* filter(items, isWanted) {
  /** @type {T[]} */
  const wanted = [];
  yield* eachOf(items, (item) => {
    if (isWanted(item)) wanted.push(item);
  });
  return wanted;
}

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

module.exports = { WaitGraph, eachOf, filter, keyOf };
