'use strict';

const { priorityOfRank } = require('../../task-priority.js');
const {
  CONTENTION_NONE,
  COUNT_SHIFT,
  EVENT_CONTENDED,
  EVENT_CORRUPTED,
  EVENT_EXPIRED,
  EVENT_GRANTED,
  EVENT_LOST,
  EVENT_MISSED,
  EVENT_STALLED,
  EVENT_WORDS,
  BUDGET_WORDS,
  LOSS_CORRUPTED,
  LOSS_EXPIRED,
  MAX_EVENTS,
  MORE_EVENTS,
  TOKEN_WORDS,
} = require('./native-constants.js');

/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LockLossReason */

// The native part has codes for a lost lock; the backend seam has reasons.

/** The result of a release whose table was lost before the answer came. */
const EVENT_DISCONNECTED = -1;

/**
 * @param {number} kind  of an event
 * @returns {LockLossReason | undefined}
 */
function reasonOfEvent(kind) {
  if (kind === EVENT_LOST) return 'stolen';
  if (kind === EVENT_EXPIRED) return 'expired';
  return kind === EVENT_DISCONNECTED || kind === EVENT_CORRUPTED ? 'disconnected' : undefined;
}

/**
 * @param {number} loss  the native answer to the end of a request: 0 where the lock was not lost
 * @returns {LockLossReason | undefined}
 */
function reasonOfLoss(loss) {
  if (loss === 0) return undefined;
  if (loss === LOSS_CORRUPTED) return 'disconnected';
  return loss === LOSS_EXPIRED ? 'expired' : 'stolen';
}

/**
 * @param {number} contention  of a held lock
 * @returns {import('../../task-priority.js').TaskPriority | null} null: no request waits
 */
const priorityOfContention = (contention) =>
  contention === CONTENTION_NONE ? null : priorityOfRank(contention - CONTENTION_NONE - 1);

/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */

/** The `backendId` of a request that the native part does not know. */
const NO_ID = -1;

const WAS_CORRUPTED = 'its record in the lock table was corrupted';

/** Indexes of the words of an event; EVENT_STALLED has a process id in place of a token's half. */
const EVENT_ID = 0;
const EVENT_KIND = 1;
const EVENT_TOKEN = 2;
const EVENT_PID = 3;

/**
 * Warns that a request cannot be decided: a debugger, ^Z or a frozen container has stopped a
 * process while it updates the lock table.
 * @param {string} name
 * @param {number} pid  the stopped process; 0: unknown
 */
function warnOfStall(name, pid) {
  const who = pid === 0 ? 'a process' : `process ${pid}`;
  process.emitWarning(
    `The request for '${name}' has waited for a second because ${who} is stopped while it ` +
      'updates the lock table. It keeps its place, and is decided when that process continues or ends.',
    { type: 'HoldfastWarning', code: 'HOLDFAST_STALLED' },
  );
}

/** The requests of one native agent, and the array through which it reports their events. */
class AgentRequests {
  /**
   * By the native part's id. The backend stores here directly after the native call that begins or
   * ends a request, and without a call. At the end of the stack a call throws, and a method that
   * throws has no effect. Else a lock would be lost, or a repeated release would end another
   * request.
   * @type {(Request | null)[]}
   */
  byId = [];
  /** @type {Map<number, (kind: number) => void>} releases without an answer yet, by id */
  #releases = new Map();
  /**
   * Written by the native part: the token of a grant, events, and words of biased-locks.js. Signed,
   * because half of all unsigned 32-bit numbers would be objects in the heap. Its bytes are a
   * Buffer's, which belong to no realm: the native part refers to them as long as it has the agent.
   */
  words = new Int32Array(
    Buffer.alloc(4 * (TOKEN_WORDS + EVENT_WORDS * MAX_EVENTS + BUDGET_WORDS)).buffer,
  );

  /** @param {Request} request */
  forget(request) {
    this.byId[request.backendId] = null;
    request.backendId = NO_ID;
  }

  /** No request waits or holds, and no release waits for its answer. */
  get isEmpty() {
    const isNone = (/** @type {Request | null} */ request) => request === null;
    return this.#releases.size === 0 && this.byId.every(isNone);
  }

  /** @returns {Request[]} all requests; the table is empty afterwards */
  takeAll() {
    const requests = this.byId.filter((request) => request !== null);
    this.byId = [];
    return requests;
  }

  /**
   * @param {number} id
   * @returns {Promise<number>} the kind of the event with the release's result
   */
  awaitRelease(id) {
    return new Promise((resolve) => {
      this.#releases.set(id, resolve);
    });
  }

  /**
   * @param {number} id
   * @param {number} kind  of the event
   * @returns {boolean} whether a release waited for this event
   */
  #answerRelease(id, kind) {
    this.#releases.get(id)?.(kind);
    return this.#releases.delete(id);
  }

  /**
   * Answers all open releases with this result.
   * @param {number} kind
   */
  answerReleases(kind) {
    for (const id of [...this.#releases.keys()]) this.#answerRelease(id, kind);
  }

  /**
   * @param {Request} request
   * @param {number} [at]  index of the token in the words; a corrupted record has none
   */
  setToken(request, at = 0) {
    if (this.words[at] === 0) return;
    request.tokenHigh = this.words[at];
    request.tokenLow = this.words[at + 1];
  }

  /**
   * Passes events to their requests, until there are none.
   * @param {() => number} read  of the native part, which writes the next ones
   * @param {() => Error} lastError  of the native part, for a request that failed
   * @returns {number | undefined} the last answer of the native part; undefined if a notified
   *   request has closed it
   */
  reportAll(read, lastError) {
    const requests = this.byId;
    let answer = /** @type {number} */ (MORE_EVENTS);
    while ((answer & MORE_EVENTS) !== 0) {
      answer = read();
      const count = answer >> COUNT_SHIFT;
      for (let i = 0; i < count; i += 1) {
        this.#report(i, lastError);
        if (this.byId !== requests) return undefined; // takeAll()
      }
    }
    return answer;
  }

  /**
   * Passes an event to its request.
   * @param {number} index  of the event, among those that the native part has just written
   * @param {() => Error} lastError
   */
  #report(index, lastError) {
    const at = TOKEN_WORDS + index * EVENT_WORDS;
    const id = this.words[at + EVENT_ID];
    const kind = this.words[at + EVENT_KIND];
    if (this.#releases.size > 0 && this.#answerRelease(id, kind)) return;
    const request = this.byId[id];
    if (request === null || request === undefined) return;
    if (kind === EVENT_CONTENDED) {
      const contention = this.words[at + EVENT_TOKEN + 1];
      return request.contentionChanged(priorityOfContention(contention));
    }
    if (kind === EVENT_GRANTED) {
      this.setToken(request, at + EVENT_TOKEN);
      request.granted();
      return;
    }
    if (kind === EVENT_STALLED) return warnOfStall(request.name, this.words[at + EVENT_PID]);
    this.forget(request);
    const loss = reasonOfEvent(kind);
    if (loss !== undefined) {
      this.setToken(request, at + EVENT_TOKEN); // a loss may arrive before the grant
      request.lost(loss, kind === EVENT_CORRUPTED ? WAS_CORRUPTED : undefined);
    } else if (kind === EVENT_MISSED) request.missed();
    else request.failed(/** @type {DOMException} */ (lastError()));
  }
}

module.exports = {
  EVENT_DISCONNECTED,
  priorityOfContention,
  reasonOfEvent,
  reasonOfLoss,
  AgentRequests,
  NO_ID,
};
