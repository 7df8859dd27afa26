'use strict';

const { DeadlockError } = require('../../errors.js');
const { describeCycle } = require('./describe-cycle.js');
const { WaitGraph } = require('./wait-graph.js');
const { performance, setTimeout } = require('../../time.js');

/** @typedef {import('../../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */

/**
 * @typedef {object} WatchedRequest
 * @property {number} backendId
 * @property {import('../../../types/backend.d.ts').LockRequestExtras | undefined} extras
 * @property {(error: DeadlockError) => void} abort  leaves the queue and rejects
 */

/**
 * @typedef {object} Watched
 * @property {number} at  when to look next
 * @property {number} pauseMs  that goes before
 * @property {boolean} isWarned
 */

/** How long a request waits before anybody asks why. */
const FIRST_PAUSE_MS = 100;
/** Between two looks at a request that is stuck while another has to do something about it. */
const MAX_PAUSE_MS = 1000;
/** To look at everything must not take more than a small part of the time. */
const LEAST_PAUSE_PER_COST = 20;

/**
 * Looks for deadlocks among the requests of one agent that wait inside a callback: no other can be
 * part of one. Every agent looks for itself and sees the same: of those that wait for each other,
 * the request that was made last has closed the cycle, and does something about it.
 */
class DeadlockDetector {
  #backend;
  /** @type {Map<WatchedRequest, Watched>} */
  #watched = new Map();
  /** There is a timer to the next look. */
  #isTimed = false;
  #isLooking = false;

  /** @param {LockBackend} backend */
  constructor(backend) {
    this.#backend = backend;
  }

  /** @param {WatchedRequest} request  that waits */
  watch(request) {
    const at = performance.now() + FIRST_PAUSE_MS;
    this.#watched.set(request, { at, pauseMs: FIRST_PAUSE_MS, isWarned: false });
    this.#schedule(FIRST_PAUSE_MS);
  }

  /**
   * The timer goes on: to set one for each request would cost more than most of them wait.
   * @param {WatchedRequest} request  that waits no more
   */
  unwatch(request) {
    this.#watched.delete(request);
  }

  /** @param {number} delayMs */
  #schedule(delayMs) {
    if (this.#isLooking || this.#isTimed) return;
    this.#isTimed = true;
    setTimeout(() => this.#look(), delayMs).unref();
  }

  async #look() {
    const start = performance.now();
    this.#isTimed = false;
    this.#isLooking = true;
    const due = [...this.#watched].filter(([, { at }]) => at <= start);
    if (due.length > 0) await this.#lookAt(due.map(([request]) => request));
    this.#isLooking = false;
    if (this.#watched.size === 0) return;
    const now = performance.now();
    const next = Math.min(...Array.from(this.#watched.values(), ({ at }) => at));
    this.#schedule(Math.max(next - now, (now - start) * LEAST_PAUSE_PER_COST));
  }

  /** @param {WatchedRequest[]} requests */
  async #lookAt(requests) {
    try {
      const graph = new WaitGraph(await this.#backend.inspect());
      for (const request of requests) this.#judge(request, graph);
    } catch {
      // The backend is gone, and tells its requests so itself.
      this.#watched.clear();
    }
  }

  /**
   * @param {WatchedRequest} request
   * @param {WaitGraph} graph
   */
  #judge(request, graph) {
    const watched = this.#watched.get(request);
    const detail = graph.find(this.#backend.clientId, request.backendId);
    if (watched === undefined) return;
    // Whoever closes a cycle around this one later, finds it then.
    if (detail === undefined || !graph.isStuck(detail)) {
      this.#watched.delete(request);
      return;
    }
    watched.pauseMs = Math.min(2 * watched.pauseMs, MAX_PAUSE_MS);
    watched.at = performance.now() + watched.pauseMs;
    if (watched.isWarned || !hasClosedCircle(detail, graph)) return;
    if (request.extras?.deadlock === 'reject') {
      request.abort(toError(graph.cycleThrough(detail)));
    } else {
      watched.isWarned = true;
      warnOfDeadlock(graph.cycleThrough(detail));
    }
  }
}

/**
 * Whether it is the last of those that wait for each other, and so the one to do something.
 * @param {LockDetail} request
 * @param {WaitGraph} graph
 */
function hasClosedCircle(request, graph) {
  const knot = graph.knotOf(request);
  return knot.length > 0 && knot.every((other) => other === request || isBefore(other, request));
}

/** @param {LockDetail[]} cycle */
function toError(cycle) {
  const members = cycle.map(({ name, mode, clientId, pid, threadId }) => ({
    name,
    mode,
    clientId,
    pid,
    threadId,
  }));
  return new DeadlockError(describeCycle(cycle), members);
}

/** @param {LockDetail[]} cycle */
function warnOfDeadlock(cycle) {
  process.emitWarning(describeCycle(cycle), {
    type: 'HoldfastWarning',
    code: 'HOLDFAST_DEADLOCK',
  });
}

/**
 * All agents have to agree on the order, also of those that came at the same time.
 * @param {LockDetail} a
 * @param {LockDetail} b
 */
function isBefore(a, b) {
  if (a.since !== b.since) return a.since < b.since;
  if (a.clientId !== b.clientId) return a.clientId < b.clientId;
  return a.requestId < b.requestId;
}

/** @type {WeakMap<LockBackend, DeadlockDetector>} */
const watches = new WeakMap();

/**
 * @param {LockBackend} backend
 * @param {WatchedRequest} request  that waits inside a callback
 */
function watchForDeadlock(backend, request) {
  if (request.extras?.deadlock === 'ignore') return;
  let watch = watches.get(backend);
  if (watch === undefined) {
    watch = new DeadlockDetector(backend);
    watches.set(backend, watch);
  }
  watch.watch(request);
}

/**
 * @param {LockBackend} backend
 * @param {WatchedRequest} request  that waits no more
 */
function unwatchForDeadlock(backend, request) {
  watches.get(backend)?.unwatch(request);
}

module.exports = { unwatchForDeadlock, watchForDeadlock };
