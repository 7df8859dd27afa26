'use strict';

const { clearTimeout, setTimeout } = require('node:timers');
const { DeadlockError, describeCycle } = require('./deadlock-error.js');
const { WaitGraph } = require('./wait-graph.js');

/** @typedef {import('../../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */

/**
 * @typedef {object} WatchedRequest
 * @property {boolean} isWaiting
 * @property {'warn' | 'reject'} deadlock  what is to be done
 * @property {number} backendId
 * @property {(error: DeadlockError) => void} giveUp  leaves the queue and rejects
 */

/** How long a request waits before anybody asks why; the default of PostgreSQL is a second. */
const FIRST_CHECK_MS = 100;
/** Between the checks of a request that is stuck, but is not the one to do something about it. */
const LONGEST_PAUSE_MS = 1000;
/** Looking at everything must not take more than a part of the time. */
const PAUSE_PER_COST = 20;

/**
 * Looks for deadlocks among the requests of one agent that wait inside a callback: others cannot be
 * part of one. Each agent looks for itself, and finds the same: of those that wait for each other
 * the one that was made last does something about it.
 */
class DeadlockWatch {
  #backend;
  /** @type {Map<WatchedRequest, { at: number, pauseMs: number, isWarned: boolean }>} */
  #watched = new Map();
  /** @type {NodeJS.Timeout | undefined} */
  #timer = undefined;
  #isChecking = false;

  /** @param {LockBackend} backend */
  constructor(backend) {
    this.#backend = backend;
  }

  /**
   * @param {WatchedRequest} request  that waits, and was made inside a callback
   */
  watch(request) {
    const at = performance.now() + FIRST_CHECK_MS;
    this.#watched.set(request, { at, pauseMs: FIRST_CHECK_MS, isWarned: false });
    this.#schedule(FIRST_CHECK_MS);
  }

  /** @param {WatchedRequest} request  that does not wait any more */
  unwatch(request) {
    this.#watched.delete(request);
    if (this.#watched.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** @param {number} delayMs */
  #schedule(delayMs) {
    if (this.#isChecking || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#checkDue();
    }, delayMs).unref();
  }

  async #checkDue() {
    const now = performance.now();
    const due = [...this.#watched.keys()].filter((request) => this.#isDue(request, now));
    if (due.length > 0) await this.#check(due);
    const cost = performance.now() - now;
    const next = Math.min(...[...this.#watched.values()].map(({ at }) => at));
    if (next < Infinity) this.#schedule(Math.max(next - performance.now(), cost * PAUSE_PER_COST));
  }

  /**
   * @param {WatchedRequest} request
   * @param {number} now
   */
  #isDue(request, now) {
    const state = this.#watched.get(request);
    return state !== undefined && state.at <= now;
  }

  /** @param {WatchedRequest[]} due */
  async #check(due) {
    this.#isChecking = true;
    try {
      const graph = new WaitGraph(await this.#backend.inspect());
      for (const request of due) this.#checkOne(request, graph);
    } catch {
      // The backend is closed or gone; its requests are told so by itself.
      this.#watched.clear();
    } finally {
      this.#isChecking = false;
    }
  }

  /**
   * @param {WatchedRequest} request
   * @param {WaitGraph} graph
   */
  #checkOne(request, graph) {
    const state = this.#watched.get(request);
    const detail = graph.find(this.#backend.clientId, request.backendId);
    if (state === undefined || detail === undefined) return;
    if (!graph.isStuck(detail)) {
      // Whoever closes a circle with it later finds out then.
      this.unwatch(request);
      return;
    }
    state.pauseMs = Math.min(2 * state.pauseMs, LONGEST_PAUSE_MS);
    state.at = performance.now() + state.pauseMs;
    if (!isLatest(detail, graph.knotOf(detail))) return;
    const cycle = graph.cycleThrough(detail);
    if (request.deadlock === 'reject') {
      this.unwatch(request);
      request.giveUp(new DeadlockError(cycle));
    } else if (!state.isWarned) {
      state.isWarned = true;
      process.emitWarning(describeCycle(cycle), {
        type: 'HoldfastWarning',
        code: 'HOLDFAST_DEADLOCK',
      });
    }
  }
}

/**
 * @param {LockDetail} request
 * @param {LockDetail[]} knot
 */
function isLatest(request, knot) {
  return knot.length > 0 && knot.every((other) => other === request || isBefore(other, request));
}

/**
 * Everybody has to agree on the order, also of two that came at the same time.
 * @param {LockDetail} a
 * @param {LockDetail} b
 */
function isBefore(a, b) {
  if (a.since !== b.since) return a.since < b.since;
  if (a.clientId !== b.clientId) return a.clientId < b.clientId;
  return a.requestId < b.requestId;
}

module.exports = { DeadlockWatch };
