'use strict';

/** @typedef {import('./keys.js').RequestClass} RequestClass */
/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LockLossReason */

/** @typedef {import('../remote/request-table.js').RequestMessage} RequestMessage */

/**
 * The life of a request: the cluster does not know it; it waits; it holds the lock; it is over.
 */
const NEW = 0;
const WAITING = 1;
const HELD = 2;
const OVER = 3;

/** A request as the session sees it. */
class EtcdRequest {
  phase = NEW;
  /** The agent has ended it; a later grant is released. */
  isEnding = false;
  /** The revision at which it took its place in the queue. */
  created = '0';
  /** When that was, on this thread's clock. */
  waitsFrom = 0;
  /** The revision of its grant. */
  token = '0';
  /** A notification about its grant is in the cluster. */
  hasNotification = false;
  /** @type {LockLossReason | undefined} */
  loss = undefined;
  /** @type {NodeJS.Timeout | undefined} */
  holdTimer = undefined;
  /** In its session; one before it may have had it. */
  id = '';
  /** A revision before all that the cluster has noted of this request under its id. */
  usedAfter = 0n;
  /** @param {{ message: RequestMessage }} request */
  constructor(request) {
    const { number, name, mode, ifAvailable, steal, since, extras } = request.message;
    this.request = /** @type {import('../remote/lock-session.js').RemoteRequest} */ (request);
    this.number = number;
    this.name = name;
    this.ifAvailable = ifAvailable;
    this.steal = steal;
    this.holdLimit = extras?.holdLimit ?? 0;
    this.limit = extras?.limit ?? 0;
    /** @type {RequestClass} */
    this.class = mode === 'exclusive' ? 'x' : this.limit === 0 ? 's' : 'l';
    this.value = JSON.stringify(toDetails(number, since, extras));
  }

  /**
   * Whether a notification to its id is for it, and not for a request that had the id before. The
   * notice of a steal may be late, so the token of the stolen lock decides, if the notice has it.
   * @param {{ token?: string }} notification
   * @param {string} revision  of the notification
   */
  isMeant({ token }, revision) {
    return BigInt(token ?? revision) > this.usedAfter;
  }

  /** @param {string} token */
  hold(token) {
    this.phase = HELD;
    this.token = token;
  }
}

/**
 * @typedef {object} RequestHost  receives the decisions
 * @property {(request: EtcdRequest) => void} onGranted
 * @property {(request: EtcdRequest) => void} onQueued
 * @property {(request: EtcdRequest) => void} onMissed
 * @property {(request: EtcdRequest, error: unknown) => void} onFailed
 * @property {(request: EtcdRequest, reason: LockLossReason) => void} onLost
 * @property {(request: EtcdRequest) => void} onEnded
 * @property {(queue: object) => void} onIdle
 * @property {(ms: number) => void} onWaited  by a request that has the lock now
 * @property {() => number} checkAfterMs  so long after it has begun to wait, in ms
 */

const NO_EXTRAS = { holdLimit: 0, limit: 0, label: '', callSite: '', enclosing: null };

/**
 * The details that peers can read.
 * @param {number} number
 * @param {number} since
 * @param {RequestMessage['extras']} extras
 */
function toDetails(number, since, extras = NO_EXTRAS) {
  const { holdLimit, limit, label, callSite, enclosing } = extras;
  return [since, holdLimit, limit, label, callSite, enclosing, number];
}

module.exports = { EtcdRequest, HELD, NEW, OVER, WAITING };
