'use strict';

const { eachOf, filter, runAtOnce } = require('../../sliced.js');
const { isGrantable } = require('../../backends/grantable.js');

/**
 * Computes the strongly connected components of a directed graph: for each node the nodes that it
 * can reach and that can reach it, itself included. Tarjan's algorithm, without recursion. Yields
 * at every step.
 * @template N
 * @param {Iterable<N>} starts  nodes from which all others can be reached
 * @param {(node: N) => Iterable<N>} next  the successors of a node; called once per node
 * @returns {Generator<void, Map<N, N[]>, void>} nodes of one component share one array
 */
function* strongComponents(starts, next) {
  /** @type {Map<N, number>} the order of discovery */
  const indexes = new Map();
  /** @type {Map<N, number>} the earliest reachable node that is still open */
  const lowest = new Map();
  /** @type {Map<N, N[]>} */
  const components = new Map();
  /** @type {N[]} discovered, but in no component yet */
  const open = [];

  /** @param {N} node */
  const enter = (node) => {
    indexes.set(node, indexes.size);
    lowest.set(node, indexes.size - 1);
    open.push(node);
    return { node, rest: next(node)[Symbol.iterator]() };
  };
  /**
   * @param {N} node
   * @param {number | undefined} index
   */
  const lower = (node, index) => {
    lowest.set(node, Math.min(Number(lowest.get(node)), Number(index)));
  };
  /** @param {N} node */
  function* leave(node) {
    if (lowest.get(node) !== indexes.get(node)) return;
    const component = open.splice(open.lastIndexOf(node));
    yield* eachOf(component, (member) => components.set(member, component));
  }

  /**
   * Takes one step forward or back.
   * @param {{ node: N, rest: Iterator<N> }[]} path
   */
  function* walk(path) {
    const { node, rest } = path[path.length - 1];
    const { done, value } = rest.next();
    if (done) {
      yield* leave(node);
      path.pop();
      if (path.length > 0) lower(path[path.length - 1].node, lowest.get(node));
    } else if (!indexes.has(value)) {
      path.push(enter(value));
    } else if (!components.has(value)) {
      lower(node, indexes.get(value));
    }
    yield;
  }

  for (const start of starts) {
    const path = indexes.has(start) ? [] : [enter(start)];
    while (path.length > 0) yield* walk(path);
  }
  return components;
}

/**
 * The same, without interruption.
 * @template N
 * @param {Iterable<N>} starts
 * @param {(node: N) => Iterable<N>} next
 * @returns {Map<N, N[]>}
 */
const findStrongComponents = (starts, next) => runAtOnce(strongComponents(starts, next));

/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */

/** A held lock or a pending request in the wait-for graph. */
class WaitNode {
  isStuck = true;
  /** @type {WaitNode[]} of a held lock: the nodes that it waits for */
  waitsFor = [];
  /** @type {WaitNode[]} held locks */
  waitedForBy = [];
  /** How many of the nodes that it waits for are stuck. */
  missing = 0;

  /**
   * @param {LockDetail} detail
   * @param {Resource} resource
   */
  constructor(detail, resource) {
    this.detail = detail;
    this.resource = resource;
  }

  get isHolder() {
    return this.detail.token !== null;
  }

  /** @param {WaitNode} node */
  waitFor(node) {
    this.waitsFor.push(node);
    this.missing += 1;
    node.waitedForBy.push(this);
  }

  /** @returns {(WaitNode | Resource)[]} the nodes that block it */
  next() {
    return this.isHolder ? this.waitsFor.filter(({ isStuck }) => isStuck) : [this.resource];
  }
}

/** A resource name with its holders and its queue. */
class Resource {
  /** @type {WaitNode[]} */
  #holders = [];
  /** @type {WaitNode[]} in order */
  queue = [];
  /** How many requests of the queue would be granted. */
  #granted = 0;
  #shared = 0;
  #exclusive = 0;
  #knowsQueue;

  /** @param {boolean} [knowsQueue]  false: the order of the queue is not known */
  constructor(knowsQueue = true) {
    this.#knowsQueue = knowsQueue;
  }

  /** @param {WaitNode} holder */
  addHolder(holder) {
    this.#holders.push(holder);
    this.#count(holder, 1);
  }

  /** @param {WaitNode} holder  that can continue to its release */
  removeHolder(holder) {
    this.#count(holder, -1);
  }

  /**
   * @param {WaitNode} holder
   * @param {number} change
   */
  #count({ detail }, change) {
    if (detail.mode === 'exclusive') this.#exclusive += change;
    else this.#shared += change;
  }

  /**
   * Counts the requests at the front of the strict queue that could be granted beside the stuck
   * holders, and would end.
   */
  *takeGrantable() {
    while (this.#granted < this.queue.length && this.#isGrantable(this.queue[this.#granted])) {
      yield this.queue[this.#granted];
      this.#granted += 1;
    }
  }

  /**
   * Without the queue a request waits for every holder, so that no stuck one is overlooked.
   * @param {WaitNode} request
   */
  #isGrantable({ detail: { mode, limit } }) {
    const waitsForAll = mode === 'exclusive' || !this.#knowsQueue;
    return isGrantable(waitsForAll ? 'exclusive' : mode, limit, this.#exclusive, this.#shared);
  }

  /** @returns {WaitNode[]} the nodes that keep it from being granted */
  next() {
    return this.#holders.filter(({ isStuck }) => isStuck);
  }
}

/** @typedef {import('../../../types/backend.d.ts').LockInspection} LockInspection */

/** How long a cycle stands unchanged before it is a deadlock. */
const DEADLOCK_MS = 1000;

/**
 * Requests that wait for each other: a strongly connected component of the graph.
 * @typedef {object} Deadlock
 * @property {LockDetail[]} members
 * @property {LockDetail} victim  the youngest with `deadlock: 'reject'`, otherwise the youngest
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
  /** The same for all agents. @type {Deadlock[]} */
  deadlocks = [];
  #canGoOn = /** @type {WaitNode[]} */ ([]);
  #knowsQueues;

  /** @param {boolean} knowsQueues */
  constructor(knowsQueues) {
    this.#knowsQueues = knowsQueues;
  }

  /**
   * Without interruption, with the requests that have waited for long enough to be in a deadlock.
   * @param {LockInspection} inspection
   */
  static of(inspection) {
    const counts = (/** @type {LockDetail} */ { waited }) => waited >= DEADLOCK_MS;
    return runAtOnce(WaitGraph.build(inspection, { counts }));
  }

  /**
   * @param {LockInspection} inspection  a consistent view, with pending requests in queue order
   * @param {object} [options]
   * @param {(request: LockDetail) => boolean} [options.counts]  whether the enclosing lock counts
   *   as waiting for a nested request
   * @param {boolean} [options.knowsQueues]  without the queues a request counts as waiting for
   *   every holder of its name, so that no stuck one is overlooked
   * @returns {Generator<void, WaitGraph, void>}
   */
  static *build({ held, pending }, { counts = () => true, knowsQueues = true } = {}) {
    const graph = new WaitGraph(knowsQueues);
    yield* eachOf(held, (detail) => graph.#addHolder(detail));
    yield* eachOf(pending, (detail) => graph.#addPending(detail, counts));
    yield* eachOf(held, (detail) => graph.#linkHolder(detail));
    yield* eachOf(graph.#byToken.values(), (node) => graph.#goOnIfFree(node));
    yield* eachOf(graph.#resources.values(), (resource) => graph.#grantFrom(resource));
    yield* eachOf(graph.#canGoOn, (node) => graph.#release(node)); // the list grows
    const stuck = yield* filter(graph.#byKey.values(), ({ isStuck }) => isStuck);
    const components = yield* strongComponents(
      /** @type {Iterable<WaitNode | Resource>} */ (stuck),
      (node) => node.next(),
    );
    yield* eachOf(new Set(components.values()), (component) => graph.#addDeadlock(component));
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
   * Counts the pending requests that are not in a deadlock, but wait for its members, directly or
   * through others.
   * @param {Deadlock} deadlock
   */
  countBehind({ members }) {
    const nodes = new Set(members.map((request) => this.#nodeOf(request)));
    const resources = new Set();
    let count = -members.length;
    for (const { detail, resource, waitedForBy } of nodes) {
      if (detail.token === null) count += 1;
      for (const holder of waitedForBy) nodes.add(holder);
      if (resources.has(resource)) continue;
      resources.add(resource);
      for (const request of resource.queue.filter(({ isStuck }) => isStuck)) nodes.add(request);
    }
    return count;
  }

  /** @param {(WaitNode | Resource)[]} component  strongly connected */
  #addDeadlock(component) {
    if (component.length < 2) return;
    const members = pendingOf(component);
    this.deadlocks.push({ members, victim: members.reduce(victimOf) });
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
   * @param {(request: LockDetail) => boolean} counts
   */
  #addPending(detail, counts) {
    const node = new WaitNode(detail, this.#resourceOf(detail.name));
    node.resource.queue.push(node);
    this.#byKey.set(keyOf(detail.clientId, detail.requestId), node);
    if (detail.enclosingToken === null || !counts(detail)) return;
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
    if (holder.waitsFor.length === 0 || (holder.detail.holdLimit ?? 0) > 0)
      this.#canGoOn.push(holder);
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
 * The victim of two requests of a deadlock, by a total order that all agents share, also between
 * requests of the same millisecond.
 * @param {LockDetail} a
 * @param {LockDetail} b
 */
function victimOf(a, b) {
  const isRejected = a.deadlock === 'reject';
  if (isRejected !== (b.deadlock === 'reject')) return isRejected ? a : b;
  if (a.since !== b.since) return a.since < b.since ? b : a;
  if (a.clientId !== b.clientId) return a.clientId < b.clientId ? b : a;
  return a.requestId < b.requestId ? b : a;
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

module.exports = { findStrongComponents, DEADLOCK_MS, WaitGraph };
