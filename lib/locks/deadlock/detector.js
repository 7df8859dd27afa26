'use strict';

const { DeadlockError } = require('../../errors.js');
const { performance, setTimeout } = require('../../time.js');
const { UNSEEN, AWAITED } = require('./await-tracker.js');
const { describeCycle, describePossibleCycle } = require('./describe-cycle.js');
const { isWithin } = require('../enclosing-word.js');
const { linkPossible } = require('./possible-links.js');
const { runSliced } = require('../../sliced.js');
const { Surroundings } = require('./surroundings.js');
const { WaitGraph, eachOf, filter, keyOf } = require('./wait-graph.js');

/** @typedef {import('../../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */
/** @typedef {import('../../../types/backend.d.ts').LockInspection} LockInspection */

/**
 * @typedef {object} WatchedRequest
 * @property {number} backendId
 * @property {import('../../../types/backend.d.ts').LockRequestExtras | undefined} extras
 * @property {import('../call-chain.js').ChainLink | undefined} outer
 * @property {0 | 1 | 2} awaitState  see await-tracker.js
 * @property {boolean} isNestedWait  it waits still
 * @property {boolean} isWatched  of the detector: unwatch() has to be called
 * @property {(error: DeadlockError) => void} abort  leaves the queue and rejects
 */

/**
 * @typedef {object} Watched
 * @property {number} at  time of the next check; Infinity: there is none
 * @property {number} pauseMs  the pause before it
 * @property {boolean} isWarned
 * @property {string} possible  the shape of a possible cycle; '' if there is none
 * @property {number} possibleSince
 */

/** How long a request waits before its first check, at least. */
const FIRST_PAUSE_MS = 100;
/** How long it waits before a time is set for that check: most waits end before. */
const FRESH_MS = 25;
/** How many fresh requests are noted before those that have ended are dropped. */
const FRESH_COUNT = 64;
/** The longest pause between two checks of a stuck request when another request has to act. */
const MAX_PAUSE_MS = 1000;
/**
 * The minimum pause, as a multiple of a check's own duration: checks must take a small part of the
 * time.
 */
const LEAST_PAUSE_PER_COST = 20;
/** How long a possible deadlock must last unchanged before it is reported. */
const POSSIBLE_MS = 5000;

/**
 * Finds deadlocks among one agent's requests that wait, or may wait, inside a callback: no other
 * request can be part of one. Every agent runs this on its own and comes to the same result, also
 * about which request of a cycle acts. That is the last one made with `deadlock: 'reject'`,
 * otherwise the last one that warns.
 */
class DeadlockDetector {
  #backend;
  /** @type {Map<WatchedRequest, Watched>} */
  #watched = new Map();
  /** Requests that began to wait; some of them wait no more. @type {WatchedRequest[]} */
  #fresh = [];
  #maxFresh = FRESH_COUNT;
  /** A timer is set that empties #fresh. */
  #isFreshTimed = false;
  /** A timer for the next check is set. */
  #isTimed = false;
  #isLooking = false;

  /** @param {LockBackend} backend */
  constructor(backend) {
    this.#backend = backend;
  }

  /**
   * Only notes the request. A clock, a map or a timer for each would cost more time than most
   * requests wait.
   * @param {WatchedRequest} request  that waits
   */
  watch(request) {
    if (this.#fresh.length === this.#maxFresh) this.#dropEnded();
    this.#fresh.push(request);
    if (this.#isFreshTimed) return;
    this.#isFreshTimed = true;
    setTimeout(() => this.#watchFresh(), FRESH_MS).unref();
  }

  /** @param {WatchedRequest} request  that waits no more */
  unwatch(request) {
    this.#watched.delete(request);
  }

  #dropEnded() {
    this.#fresh = this.#fresh.filter((request) => request.isNestedWait);
    this.#maxFresh = Math.max(FRESH_COUNT, 2 * this.#fresh.length);
  }

  /** Sets the time of the first check for those that wait still. */
  #watchFresh() {
    const now = performance.now();
    const fresh = this.#fresh;
    this.#isFreshTimed = false;
    this.#fresh = [];
    this.#maxFresh = FRESH_COUNT;
    for (const request of fresh) {
      if (!request.isNestedWait) continue;
      request.isWatched = true;
      this.#watched.set(request, {
        at: now + FIRST_PAUSE_MS,
        pauseMs: FIRST_PAUSE_MS,
        isWarned: false,
        possible: '',
        possibleSince: 0,
      });
    }
    if (this.#watched.size > 0) this.#schedule(FIRST_PAUSE_MS);
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
    try {
      await this.#lookAtDue(start);
    } catch {
      // The backend is closed, and reports that to its requests itself.
      this.#watched.clear();
    }
    this.#isLooking = false;
    const now = performance.now();
    let next = Infinity;
    for (const { at } of this.#watched.values()) next = Math.min(next, at);
    if (next === Infinity) return;
    this.#schedule(Math.max(next - now, (now - start) * LEAST_PAUSE_PER_COST));
  }

  /** @param {number} now */
  async #lookAtDue(now) {
    /** @type {WatchedRequest[]} */
    const due = [];
    for (const [request, watched] of this.#watched) {
      if (watched.at > now) continue;
      if (hasLeft(request)) watched.at = Infinity;
      else due.push(request);
    }
    if (due.length === 0) return;
    const own = this.#ownByKey();
    const inspection = await this.#inspectAround(due, own);
    if (inspection === undefined) return;
    const isAwaited = (/** @type {LockDetail} */ request) =>
      this.#isAwaited(own.get(keyOf(request.clientId, request.requestId)), AWAITED);
    const graph = await runSliced(WaitGraph.build(inspection, { isAwaited }));
    const chosen = new Map();
    const others = await runSliced(filter(due, (request) => !this.#judge(request, graph, chosen)));
    if (others.length > 0) await this.#lookForPossible(others, inspection, own);
  }

  /**
   * @param {WatchedRequest[]} requests  those that are not stuck are watched no more
   * @param {Map<string, WatchedRequest>} own
   * @returns {Promise<LockInspection | undefined>} undefined: none of them is stuck
   */
  async #inspectAround(requests, own) {
    const surroundings = new Surroundings(this.#backend, (/** @type {LockDetail} */ request) =>
      this.#isAwaited(own.get(keyOf(request.clientId, request.requestId)), UNSEEN + 1),
    );
    const ids = requests.map(({ backendId }) => backendId);
    const stuck = await surroundings.findStuck(ids);
    if (stuck === undefined) return surroundings.inspectAll();
    for (const request of requests) {
      // If a later request closes a cycle through this one, that request's check finds it.
      if (!stuck.has(request.backendId)) this.#watched.delete(request);
    }
    return stuck.size === 0 ? undefined : surroundings.inspect([...stuck]);
  }

  /** The requests that wait, by their key in an inspection. */
  #ownByKey() {
    const { clientId } = this.#backend;
    const waiting = this.#fresh.filter((request) => request.isNestedWait);
    const own = new Map();
    for (const request of [...this.#watched.keys(), ...waiting])
      own.set(keyOf(clientId, request.backendId), request);
    return own;
  }

  /**
   * A request of another agent counts as awaited, because this agent cannot know.
   * @param {WatchedRequest | undefined} request
   * @param {number} least  the least await state that counts
   */
  #isAwaited(request, least) {
    if (request === undefined) return true;
    return (
      request.awaitState >= least && (request.outer === undefined || request.outer.isEnclosing)
    );
  }

  /**
   * @param {WatchedRequest[]} requests  that are not in a certain deadlock
   * @param {LockInspection} inspection
   * @param {Map<string, WatchedRequest>} own
   */
  async #lookForPossible(requests, inspection, own) {
    const isAwaited = (/** @type {LockDetail} */ request) =>
      this.#isAwaited(own.get(keyOf(request.clientId, request.requestId)), UNSEEN + 1);
    const graph = await runSliced(WaitGraph.build(inspection, { isAwaited, links: linkPossible }));
    const shapes = new Map();
    const judge = (/** @type {WatchedRequest} */ request) =>
      this.#judgePossible(request, graph, shapes);
    await runSliced(eachOf(requests, judge));
  }

  /**
   * @param {WatchedRequest} request
   * @param {WaitGraph} graph
   * @param {Map<LockDetail[], LockDetail | undefined>} chosen  by knot: the request that acts
   * @returns {boolean} whether it is in a deadlock, or has ended
   */
  #judge(request, graph, chosen) {
    const watched = this.#watched.get(request);
    if (watched === undefined) return true;
    const detail = graph.find(this.#backend.clientId, request.backendId);
    if (detail === undefined || !graph.isStuck(detail)) return false;
    const knot = graph.knotOf(detail);
    if (knot.length === 0) return false;
    pause(watched);
    if (!chosen.has(knot)) chosen.set(knot, choose(graph.awaitedOf(knot)));
    if (watched.isWarned || chosen.get(knot) !== detail) return true;
    const cycle = graph.cycleThrough(detail);
    if (request.extras?.deadlock === 'reject') {
      request.abort(toError(cycle));
    } else {
      watched.isWarned = true;
      warn(describeCycle(cycle));
    }
    return true;
  }

  /**
   * @param {WatchedRequest} request
   * @param {WaitGraph} graph  with the possible links, too
   * @param {Map<LockDetail[], string>} shapes  by knot: the shape that must not change
   */
  #judgePossible(request, graph, shapes) {
    const watched = this.#watched.get(request);
    const detail = graph.find(this.#backend.clientId, request.backendId);
    if (watched === undefined) return;
    // If a later request closes a cycle through this one, that request's check finds it.
    if (detail !== undefined && !graph.isStuck(detail)) {
      this.#watched.delete(request);
      return;
    }
    pause(watched);
    // It waits but is not in the table yet, because the table is busy: another check will find it.
    if (detail === undefined) return;
    const knot = graph.knotOf(detail);
    if (knot.length === 0) {
      watched.possible = '';
      return;
    }
    if (!shapes.has(knot)) shapes.set(knot, shapeOf(knot, graph.tokensOfKnot(detail)));
    const shape = /** @type {string} */ (shapes.get(knot));
    const now = performance.now();
    if (watched.possible !== shape) Object.assign(watched, { possible: shape, possibleSince: now });
    if (watched.isWarned || now - watched.possibleSince < POSSIBLE_MS) return;
    watched.isWarned = true;
    if (lastOf(graph.awaitedOf(knot).filter(({ deadlock }) => deadlock !== 'ignore')) === detail) {
      warn(describePossibleCycle(graph.cycleThrough(detail)));
    }
  }
}

/**
 * Whether the callback that a request was made in has ended. No lock waits for it any more: it may
 * wait for a deadlock, but is in none, and gives way in none (WaitGraph.awaitedOf).
 * @param {WatchedRequest} request
 */
function hasLeft({ outer, extras }) {
  return outer !== undefined && !outer.isEnclosing && isWithin(extras?.enclosing, outer);
}

/** @param {Watched} watched */
function pause(watched) {
  watched.pauseMs = Math.min(2 * watched.pauseMs, MAX_PAUSE_MS);
  watched.at = performance.now() + watched.pauseMs;
}

/**
 * @param {LockDetail[]} knot  requests that wait for each other
 * @returns {LockDetail | undefined} the request that acts; undefined: all of them ignore deadlocks
 */
function choose(knot) {
  return (
    lastOf(knot.filter(({ deadlock }) => deadlock === 'reject')) ??
    lastOf(knot.filter(({ deadlock }) => deadlock !== 'ignore'))
  );
}

/** @param {LockDetail[]} requests */
function lastOf(requests) {
  /** @type {LockDetail | undefined} */
  let last = undefined;
  for (const request of requests) {
    if (last === undefined || isBefore(last, request)) last = request;
  }
  return last;
}

/**
 * A total order that is the same for all agents, also between requests of the same millisecond.
 * @param {LockDetail} a
 * @param {LockDetail} b
 */
function isBefore(a, b) {
  if (a.since !== b.since) return a.since < b.since;
  if (a.clientId !== b.clientId) return a.clientId < b.clientId;
  return a.requestId < b.requestId;
}

/**
 * @param {LockDetail[]} knot
 * @param {bigint[]} tokens  held by the knot
 */
function shapeOf(knot, tokens) {
  const requests = knot.map(
    ({ clientId, requestId, since }) => `${clientId} ${requestId} ${since}`,
  );
  return [...requests.sort(), ...tokens.map(String).sort()].join('\n');
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

/** @param {string} message */
function warn(message) {
  process.emitWarning(message, { type: 'HoldfastWarning', code: 'HOLDFAST_DEADLOCK' });
}

/** @type {WeakMap<LockBackend, DeadlockDetector>} */
const detectors = new WeakMap();

/**
 * @param {LockBackend} backend
 * @param {WatchedRequest} request  that waits, perhaps inside a callback
 */
function watchForDeadlock(backend, request) {
  if (request.extras?.deadlock === 'ignore') return;
  let detector = detectors.get(backend);
  if (detector === undefined) {
    detector = new DeadlockDetector(backend);
    detectors.set(backend, detector);
  }
  detector.watch(request);
}

/**
 * @param {LockBackend} backend
 * @param {WatchedRequest} request  that waits no more
 */
function unwatchForDeadlock(backend, request) {
  detectors.get(backend)?.unwatch(request);
}

module.exports = { unwatchForDeadlock, watchForDeadlock };
