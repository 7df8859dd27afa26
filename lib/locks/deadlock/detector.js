'use strict';

const { clearTimeout, performance, setTimeout } = require('../../time.js');
const { UNSEEN, AWAITED } = require('./await-tracker.js');
const { describeCycle, describePossibleCycle, toDeadlockError } = require('./describe-cycle.js');
const { findActors, shapeOf } = require('./knot.js');
const { OwnRequests, hasLeft } = require('./own-requests.js');
const { linkPossible } = require('./possible-links.js');
const { eachOf, runSliced } = require('../../sliced.js');
const { Surroundings } = require('./surroundings.js');
const { WaitGraph } = require('./wait-graph.js');

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
 * @property {(error: Error) => void} abort  leaves the queue and rejects
 */

/**
 * @typedef {object} Watched
 * @property {number} at  time of the next check; Infinity: there is none
 * @property {number} pauseMs  the pause before it
 * @property {boolean} isWarned
 * @property {string} possible  the shape of a possible cycle; '' if there is none
 * @property {number} possibleSince
 */

/**
 * What is the same for all of a knot, and read once.
 * @typedef {object} PossibleKnot
 * @property {string} shape  that must not change
 * @property {LockDetail | undefined} last  the one that warns
 */

/** How long a request waits before its first check, at least. */
const FIRST_PAUSE_MS = 100;
/** How long it waits before a time is set for that check: most waits end before. */
const FRESH_MS = 25;
/** How many fresh requests are noted before those that have ended are dropped. */
const FRESH_COUNT = 64;
/** The longest pause between two checks of a stuck request when another request has to act. */
const MAX_PAUSE_MS = 1000;
/** The longest pause between two checks of a request that can go on as it is. */
const MAX_REST_MS = 60_000;
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
  /** Of the next look. @type {NodeJS.Timeout | undefined} */
  #timer = undefined;
  #timerAt = Infinity;
  /** Not before, or looks would take too much of the time. */
  #earliestAt = 0;
  /** The requests that the look that is going on knows. @type {OwnRequests | undefined} */
  #own = undefined;

  /** @param {LockBackend} backend */
  constructor(backend) {
    this.#backend = backend;
    performance.now(); // loads the clock: a timer may come when a test runner loads nothing more
  }

  /**
   * Only notes the request. A clock, a map or a timer for each would cost more time than most
   * requests wait.
   * @param {WatchedRequest} request  that waits
   */
  watch(request) {
    if (this.#fresh.length === this.#maxFresh) this.#dropEnded();
    this.#fresh.push(request);
    this.#own?.note(request);
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
        at: request.extras?.deadlock === 'ignore' ? Infinity : now + FIRST_PAUSE_MS,
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
    const now = performance.now();
    const at = Math.max(now + delayMs, this.#earliestAt);
    if (this.#own !== undefined || this.#timerAt <= at) return;
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => this.#look(), at - now);
    this.#timer.unref();
  }

  async #look() {
    const start = performance.now();
    this.#timer = undefined;
    this.#timerAt = Infinity;
    let leastPause = 0;
    this.#own = new OwnRequests(this.#backend.clientId);
    try {
      await this.#lookAtDue(start, this.#own);
      leastPause = (performance.now() - start) * LEAST_PAUSE_PER_COST;
    } catch {
      // It could not be read, this time. If the backend is closed, its requests end by themselves.
      for (const watched of this.#watched.values()) if (watched.at <= start) pause(watched);
    }
    this.#own = undefined;
    const now = performance.now();
    this.#earliestAt = now + Math.min(leastPause, MAX_PAUSE_MS); // also for those that are new
    let next = Infinity;
    for (const { at } of this.#watched.values()) next = Math.min(next, at);
    if (next === Infinity) return;
    this.#schedule(Math.max(next - now, leastPause));
  }

  /**
   * @param {number} now
   * @returns {Generator<void, WatchedRequest[], void>}
   */
  *#dueAt(now) {
    /** @type {WatchedRequest[]} */
    const due = [];
    yield* eachOf(this.#watched, ([request, watched]) => {
      if (watched.at > now) return;
      if (hasLeft(request)) watched.at = Infinity;
      else due.push(request);
    });
    return due;
  }

  /**
   * A request can go on as it is. If a later one closes a cycle through it, the check of that one
   * finds it. But a promise that is awaited late may close one, too, and only its own agent can
   * reject or warn of a request: it looks again, ever more rarely; soon if it is to be rejected, or
   * if it was not known which request was meant. It stays known, so that it does not count as one
   * of another agent.
   * @param {WatchedRequest} request
   * @returns {true}
   */
  #rest(request) {
    const watched = this.#watched.get(request);
    if (watched === undefined) return true;
    if (request.extras?.deadlock === 'reject' || this.#own?.isUncertain) pause(watched);
    else pause(watched, MAX_REST_MS);
    return true;
  }

  /**
   * Those that are made from now on are noted by watch().
   * @param {OwnRequests} own
   */
  #noteOwn(own) {
    return eachOf([...this.#watched.keys(), ...this.#fresh], (request) => {
      if (request.isNestedWait) own.note(request);
    });
  }

  /**
   * @param {number} now
   * @param {OwnRequests} own
   */
  async #lookAtDue(now, own) {
    const due = await runSliced(this.#dueAt(now));
    if (due.length === 0) return;
    await runSliced(this.#noteOwn(own));
    const surroundings = new Surroundings(this.#backend, own.awaitedBy(UNSEEN + 1, true));
    const ids = await surroundings.findStuck(due.map(({ backendId }) => backendId));
    const stuck = due.filter(
      (request) => ids === undefined || ids.has(request.backendId) || !this.#rest(request),
    );
    if (stuck.length === 0) return;
    const inspection = await (ids === undefined
      ? surroundings.inspectAll()
      : surroundings.inspect([...ids]));
    const isAwaited = own.awaitedBy(AWAITED);
    const graph = await runSliced(WaitGraph.build(inspection, { isAwaited }));
    const others = await runSliced(this.#judgeAll(stuck, graph, own));
    if (others.length > 0) await this.#lookForPossible(others, inspection, own);
  }

  /**
   * @param {WatchedRequest[]} requests  that are not in a certain deadlock
   * @param {LockInspection} inspection
   * @param {OwnRequests} own
   */
  async #lookForPossible(requests, inspection, own) {
    const isAwaited = own.awaitedBy(UNSEEN + 1);
    const graph = await runSliced(WaitGraph.build(inspection, { isAwaited, links: linkPossible }));
    await runSliced(this.#judgePossible(requests, graph));
  }

  /**
   * @param {WatchedRequest[]} requests
   * @param {WaitGraph} graph
   * @param {OwnRequests} own
   * @returns {Generator<void, WatchedRequest[], void>} those that wait, and are in no deadlock
   */
  *#judgeAll(requests, graph, own) {
    /** @type {Set<LockDetail[]>} */
    const judged = new Set();
    const others = [];
    for (const request of requests) {
      yield;
      const watched = this.#watched.get(request);
      if (watched === undefined) continue;
      const detail = graph.find(this.#backend.clientId, request.backendId);
      const knot = detail !== undefined && graph.isStuck(detail) ? graph.knotOf(detail) : [];
      if (knot.length === 0) {
        others.push(request);
        continue;
      }
      pause(watched);
      if (judged.has(knot)) continue;
      judged.add(knot);
      yield* this.#actIn(knot, graph, own);
    }
    return others;
  }

  /**
   * Once per deadlock. The request need not be due: it could go on when it was looked at.
   * @param {LockDetail[]} knot
   * @param {WaitGraph} graph
   * @param {OwnRequests} own
   */
  *#actIn(knot, graph, own) {
    const actors = yield* findActors(knot, (request) => graph.isAwaited(request));
    const actor = actors.rejected ?? actors.warning;
    if (actor?.clientId !== this.#backend.clientId) return;
    const request = own.find(actor);
    const watched = request ? this.#watched.get(request) : undefined;
    if (!request || watched === undefined) return;
    if (watched.isWarned && request.extras?.deadlock !== 'reject') return;
    const cycle = yield* graph.findCycle(actor);
    if (own.hasOneEnded(cycle)) return; // meanwhile
    if (request.extras?.deadlock === 'reject') {
      request.abort(toDeadlockError(cycle));
    } else {
      watched.isWarned = true;
      warn(describeCycle(cycle));
    }
  }

  /**
   * @param {WatchedRequest[]} requests
   * @param {WaitGraph} graph  with the possible links, too
   */
  *#judgePossible(requests, graph) {
    /** @type {Map<LockDetail[], PossibleKnot>} */
    const knots = new Map();
    for (const request of requests) {
      yield;
      const watched = this.#watched.get(request);
      if (watched === undefined) continue;
      const detail = graph.find(this.#backend.clientId, request.backendId);
      if (detail !== undefined && !graph.isStuck(detail)) {
        this.#rest(request);
        continue;
      }
      pause(watched);
      // It waits but is not in the table yet, which is busy: another check will find it.
      if (detail === undefined) continue;
      const knot = graph.knotOf(detail);
      if (knot.length === 0) {
        watched.possible = '';
        continue;
      }
      if (!knots.has(knot)) knots.set(knot, yield* toPossibleKnot(knot, graph, detail));
      const { shape, last } = /** @type {PossibleKnot} */ (knots.get(knot));
      if (!hasLasted(watched, shape)) continue;
      const cycle = last === detail ? yield* graph.findCycle(detail) : [];
      if (this.#watched.get(request) !== watched) continue; // it has ended meanwhile
      watched.isWarned = true;
      if (cycle.length > 0) warn(describePossibleCycle(cycle));
    }
  }
}

/**
 * @param {LockDetail[]} knot
 * @param {WaitGraph} graph
 * @param {LockDetail} member
 * @returns {Generator<void, PossibleKnot, void>}
 */
function* toPossibleKnot(knot, graph, member) {
  const { warning } = yield* findActors(knot, (request) => graph.isAwaited(request));
  return { shape: yield* shapeOf([...knot, ...graph.locksOfKnot(member)]), last: warning };
}

/**
 * @param {Watched} watched
 * @param {string} shape  of its possible knot
 * @returns {boolean} whether it has been the same for long, and was not warned of
 */
function hasLasted(watched, shape) {
  const now = performance.now();
  if (watched.possible !== shape) Object.assign(watched, { possible: shape, possibleSince: now });
  return !watched.isWarned && now - watched.possibleSince >= POSSIBLE_MS;
}

/**
 * @param {Watched} watched
 * @param {number} [maxMs]
 */
function pause(watched, maxMs = MAX_PAUSE_MS) {
  watched.pauseMs = Math.min(2 * watched.pauseMs, maxMs);
  watched.at = performance.now() + watched.pauseMs;
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
