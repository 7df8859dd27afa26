'use strict';

const { DeadlockError } = require('../../errors.js');
const { describeProcess } = require('../../backends/host.js');
const { isWithin, readEnclosingToken } = require('../token.js');
const { eachOf, filter, runSliced } = require('../../sliced.js');
const { DEADLOCK_MS, WaitGraph } = require('./wait-graph.js');
const { clearTimeout, performance, setTimeout } = require('../../time.js');
const { innermostHeld } = require('../call-chain.js');

/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */

/** A message names so many requests of a cycle; the error has all of them. */
const MAX_NAMED = 100;

/** @param {LockDetail} request  in a cycle */
function describeRequest(request) {
  const { name, mode, label, threadId, waited } = request;
  const about = [mode, describeProcess(request), `thread ${threadId}`];
  if (label !== '') about.unshift(`label '${label}'`);
  return `'${name}' (${about.join(', ')}; for ${Math.round(waited)} ms)`;
}

/**
 * @param {LockDetail[]} cycle  each waits for a lock in whose callback the next was made
 * @returns {string}
 */
function describeCycle(cycle) {
  const lines = cycle.slice(0, MAX_NAMED).map((request, i) => {
    const { name } = cycle[(i + cycle.length - 1) % cycle.length];
    return `a holder of '${name}' waits for ${describeRequest(request)}`;
  });
  if (cycle.length > MAX_NAMED) lines.push(`… and ${cycle.length - MAX_NAMED} more`);
  return `Deadlock: ${lines.join('; ')}`;
}

/**
 * @param {LockDetail[]} cycle  from the request that the warning is about
 * @returns {string}
 */
function describeWarning(cycle) {
  const [{ name }] = cycle;
  const enclosing = cycle[cycle.length - 1].name;
  return (
    `${describeCycle(cycle)}. It does not end if the callback of '${enclosing}' awaits this ` +
    `request for '${name}'; otherwise pass \`deadlock: 'ignore'\` to the request.`
  );
}

/** @param {LockDetail[]} cycle */
function toDeadlockError(cycle) {
  const members = cycle.map(({ name, mode, clientId, pid, host, threadId }) => ({
    ...{ name, mode, clientId, pid, threadId },
    ...(host === undefined ? {} : { host }),
  }));
  return new DeadlockError(describeCycle(cycle), members);
}

/** @typedef {import('../../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('../../../types/backend.d.ts').LockInspection} LockInspection */

/**
 * Reads the part of the lock table that a deadlock check needs, and no more. Most requests wait for
 * a holder that can continue, which the holders alone show, without their queues. Only requests
 * that may be stuck are read with their queues, and twice where one read is of no one moment.
 */
class ReachableWaits {
  #backend;
  #counts;

  /**
   * @param {LockBackend} backend
   * @param {(request: LockDetail) => boolean} counts  see WaitGraph.build()
   */
  constructor(backend, counts) {
    this.#backend = backend;
    this.#counts = counts;
  }

  /**
   * @param {number[]} ids  of this agent's waiting requests
   * @returns {Promise<Set<number> | undefined>} a superset of the stuck ones; undefined: the
   *   backend can only return the whole table
   */
  async findStuck(ids) {
    if (this.#backend.waitsOf === undefined) return undefined;
    const options = { counts: this.#counts, knowsQueues: false };
    const graph = await runSliced(WaitGraph.build(await this.#walk(ids, false), options));
    const stuck = filter(ids, (id) => {
      const detail = graph.find(this.#backend.clientId, id);
      // A request that is missing is not in the busy table yet.
      return detail === undefined || graph.isStuck(detail);
    });
    return new Set(await runSliced(stuck));
  }

  /**
   * @param {number[]} ids  of this agent's waiting requests
   * @returns {Promise<LockInspection>} a consistent view of all that can be reached from them
   */
  async inspect(ids) {
    const first = await this.#walk(ids, true);
    if (first.isOneMoment) return first;
    return runSliced(intersect(first, await this.#walk(ids, true)));
  }

  async inspectAll() {
    return readEnclosingTokens(await this.#backend.inspect());
  }

  /**
   * @param {number[]} ids
   * @param {boolean} withQueues
   */
  async #walk(ids, withQueues) {
    const waitsOf = /** @type {NonNullable<LockBackend['waitsOf']>} */ (this.#backend.waitsOf);
    const known = ids.filter((id) => id >= 0);
    return readEnclosingTokens(await waitsOf.call(this.#backend, known, { withQueues }));
  }
}

/**
 * @template {LockInspection} T
 * @param {T} inspection
 * @returns {Promise<T>} the same
 */
async function readEnclosingTokens(inspection) {
  await runSliced(eachOf(inspection.held, readEnclosingToken));
  await runSliced(eachOf(inspection.pending, readEnclosingToken));
  return inspection;
}

/**
 * Returns the entries that are in both of two reads: all of them existed together between the
 * reads.
 * @param {LockInspection} first
 * @param {LockInspection} second  begun after the first had ended
 * @returns {Generator<void, LockInspection, void>}
 */
function* intersect(first, second) {
  /** @type {Set<string>} */
  const pending = new Set();
  yield* eachOf(second.pending, (detail) => pending.add(identityOf(detail)));
  /** @type {Set<bigint | null>} */
  const held = new Set();
  yield* eachOf(second.held, ({ token }) => held.add(token));
  return {
    held: yield* filter(first.held, ({ token }) => held.has(token)),
    pending: yield* filter(first.pending, (detail) => pending.has(identityOf(detail))),
  };
}

/**
 * The number of a request is used again once it has ended.
 * @param {LockDetail} request
 */
const identityOf = ({ clientId, requestId, since, enclosingToken, name }) =>
  `${clientId} ${requestId} ${since} ${enclosingToken} ${name}`;

/**
 * @typedef {object} WatchedRequest
 * @property {number} backendId
 * @property {import('../../../types/backend.d.ts').LockRequestExtras | undefined} extras
 * @property {import('../call-chain.js').ChainLink | undefined} outer
 * @property {boolean} isNestedWait  it waits still
 * @property {boolean} isWatched  of the detector: unwatch() has to be called
 * @property {(error: Error) => void} abort  leaves the queue and rejects
 */

/**
 * @typedef {object} Watched
 * @property {number} at  time of the next check; Infinity: there is none
 * @property {number} pauseMs  the pause before it
 * @property {boolean} isWarned
 */

/** How long a request waits before its first check, at least. */
const FIRST_PAUSE_MS = 100;
/** How long it waits before a time is set for that check: most waits end before. */
const FRESH_MS = 25;
/** How many fresh requests are noted before those that have ended are dropped. */
const FRESH_COUNT = 64;
/** The longest pause between two checks of a request with `deadlock: 'reject'`. */
const MAX_PAUSE_MS = 1000;
/** The longest pause between two checks of another request that is not stuck. */
const MAX_REST_MS = 60_000;
/** How long a request of another agent is remembered after a check has seen it. */
const FORGET_MS = 10_000;
/**
 * The minimum pause, as a multiple of a check's own duration: checks must take a small part of the
 * time.
 */
const LEAST_PAUSE_PER_COST = 20;

/**
 * Finds deadlocks among one agent's requests that wait inside a callback: no other request can be
 * part of one. Every agent runs this on its own and comes to the same result, also about the victim
 * of a deadlock.
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
  /** Of the next check. @type {NodeJS.Timeout | undefined} */
  #timer = undefined;
  #timerAt = Infinity;
  /** Not before, or checks would take too much of the time. */
  #earliestAt = 0;
  #isChecking = false;
  /**
   * When a check has read a nested request for the first and for the last time, by its identity.
   * The clocks of other machines say less.
   * @type {Map<string, { first: number, last: number }>}
   */
  #seen = new Map();

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
    const at = performance.now() + FIRST_PAUSE_MS;
    const fresh = this.#fresh;
    this.#isFreshTimed = false;
    this.#fresh = [];
    this.#maxFresh = FRESH_COUNT;
    for (const request of fresh) {
      if (!request.isNestedWait) continue;
      request.isWatched = true;
      this.#watched.set(request, { at, pauseMs: FIRST_PAUSE_MS, isWarned: false });
    }
    if (this.#watched.size > 0) this.#schedule(FIRST_PAUSE_MS);
  }

  /** @param {number} delayMs */
  #schedule(delayMs) {
    const now = performance.now();
    const at = Math.max(now + delayMs, this.#earliestAt);
    if (this.#isChecking || this.#timerAt <= at) return;
    if (this.#timer !== undefined) clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => this.#check(), at - now);
    this.#timer.unref();
  }

  async #check() {
    const start = performance.now();
    this.#timer = undefined;
    this.#timerAt = Infinity;
    this.#isChecking = true;
    let leastPause = 0;
    try {
      await this.#checkDue(start);
      leastPause = (performance.now() - start) * LEAST_PAUSE_PER_COST;
    } catch {
      // It could not be read, this time. If the backend is closed, it ends its requests.
      for (const watched of this.#watched.values()) if (watched.at <= start) pause(watched);
    }
    this.#isChecking = false;
    const now = performance.now();
    this.#earliestAt = now + Math.min(leastPause, MAX_PAUSE_MS); // also for those that are new
    let next = Infinity;
    for (const { at } of this.#watched.values()) next = Math.min(next, at);
    if (next === Infinity) return;
    this.#schedule(Math.max(next - now, leastPause));
  }

  /** @param {number} start  time of this check */
  async #checkDue(start) {
    const due = await runSliced(this.#dueAt(start));
    if (due.length === 0) return;
    const own = await runSliced(this.#watchedById());
    const waits = new ReachableWaits(this.#backend, (detail) => this.#isInside(detail, own));
    const ids = await waits.findStuck(due.map(({ backendId }) => backendId));
    const stuck = due.filter(
      (request) => ids === undefined || ids.has(request.backendId) || !this.#rest(request),
    );
    if (stuck.length === 0) return;
    const inspection = await (ids === undefined ? waits.inspectAll() : waits.inspect([...ids]));
    await runSliced(this.#note(inspection.pending));
    const graph = await runSliced(
      WaitGraph.build(inspection, {
        counts: (detail) => this.#isInside(detail, own) && this.#hasStood(detail, start),
      }),
    );
    for (const request of stuck) {
      const watched = this.#watched.get(request);
      if (watched !== undefined) watched.at = performance.now() + DEADLOCK_MS;
    }
    for (const deadlock of graph.deadlocks) await runSliced(this.#actIn(deadlock, graph, own));
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

  /** @returns {Generator<void, Map<number, WatchedRequest>, void>} */
  *#watchedById() {
    const own = new Map();
    yield* eachOf(this.#watched.keys(), (request) => own.set(request.backendId, request));
    return own;
  }

  /**
   * A request that is not stuck is checked again later. A later request may close a cycle through
   * it, which the check of that one finds; but only its own agent can reject this one.
   * @param {WatchedRequest} request
   * @returns {true}
   */
  #rest(request) {
    const watched = this.#watched.get(request);
    const maxMs = request.extras?.deadlock === 'reject' ? MAX_PAUSE_MS : MAX_REST_MS;
    if (watched !== undefined) pause(watched, maxMs);
    return true;
  }

  /** @param {LockDetail[]} pending  just read */
  *#note(pending) {
    const now = performance.now();
    yield* eachOf(pending, (detail) => {
      if (detail.enclosingToken === null) return;
      const identity = identityOf(detail);
      const seen = this.#seen.get(identity);
      if (seen === undefined) this.#seen.set(identity, { first: now, last: now });
      else seen.last = now;
    });
    yield* eachOf(this.#seen, ([identity, { last }]) => {
      if (now - last > FORGET_MS) this.#seen.delete(identity);
    });
  }

  /**
   * Whether a request was made so long ago that a cycle through it can be a deadlock.
   * @param {LockDetail} detail
   * @param {number} now
   */
  #hasStood(detail, now) {
    const first = this.#seen.get(identityOf(detail))?.first;
    return first !== undefined && now - first >= DEADLOCK_MS;
  }

  /**
   * Whether the callback that a request was made in still runs, as far as this agent knows. If not,
   * its lock is kept by reentrant requests, and does not wait for this one.
   * @param {LockDetail} detail
   * @param {Map<number, WatchedRequest>} own  watched when the check began
   */
  #isInside(detail, own) {
    const request = this.#find(detail, own);
    return request === undefined || !hasLeft(request);
  }

  /**
   * Finds a watched request of this agent. An id is used again after its request has ended, so a
   * request that is no longer watched does not count.
   * @param {LockDetail} detail
   * @param {Map<number, WatchedRequest>} own  watched when the check began
   */
  #find({ clientId, requestId }, own) {
    const request = clientId === this.#backend.clientId ? own.get(requestId) : undefined;
    return request !== undefined && this.#watched.has(request) ? request : undefined;
  }

  /**
   * Once per deadlock. The victim need not be due for a check.
   * @param {import('./wait-graph.js').Deadlock} deadlock
   * @param {WaitGraph} graph
   * @param {Map<number, WatchedRequest>} own  watched when the check began
   */
  *#actIn({ members, victim }, graph, own) {
    if (victim.clientId !== this.#backend.clientId) return;
    const isRejected = victim.deadlock === 'reject';
    const ours = members.filter(({ clientId }) => clientId === victim.clientId);
    const isWarned = (/** @type {LockDetail} */ detail) => {
      const request = this.#find(detail, own);
      return request !== undefined && this.#watched.get(request)?.isWarned;
    };
    if (!isRejected && ours.some(isWarned)) return;
    const cycle = yield* graph.findCycle(victim);
    // Once a request of the cycle has ended, the others may continue.
    const hasEnded = (/** @type {LockDetail} */ detail) =>
      detail.clientId === victim.clientId && this.#find(detail, own) === undefined;
    if (cycle.some(hasEnded)) return;
    const request = /** @type {WatchedRequest} */ (this.#find(victim, own));
    if (isRejected) return request.abort(toDeadlockError(cycle));
    /** @type {Watched} */ (this.#watched.get(request)).isWarned = true;
    const type = 'HoldfastWarning';
    process.emitWarning(describeWarning(cycle), { type, code: 'HOLDFAST_DEADLOCK' });
  }
}

/**
 * Whether the callback that a request was made in has ended. The callback of a reentrant request
 * has the lock of the covering request, whose callback may still run.
 * @param {WatchedRequest} request
 */
function hasLeft({ outer, extras }) {
  const enclosing = extras?.enclosing;
  if (outer === undefined || !isWithin(enclosing, outer)) return false;
  const held = innermostHeld(outer);
  return held === undefined || !isWithin(enclosing, held);
}

/**
 * @param {Watched} watched
 * @param {number} [maxMs]
 */
function pause(watched, maxMs = MAX_PAUSE_MS) {
  watched.pauseMs = Math.min(2 * watched.pauseMs, maxMs);
  watched.at = performance.now() + watched.pauseMs;
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

module.exports = { describeCycle, ReachableWaits, unwatchForDeadlock, watchForDeadlock };
