'use strict';

/** gRPC's status codes. */
const CANCELLED = 1;
const UNKNOWN = 2;
const INVALID_ARGUMENT = 3;
const DEADLINE_EXCEEDED = 4;
const PERMISSION_DENIED = 7;
const RESOURCE_EXHAUSTED = 8;
const FAILED_PRECONDITION = 9;
const OUT_OF_RANGE = 11;
const INTERNAL = 13;
const UNAVAILABLE = 14;
const UNAUTHENTICATED = 16;

/** Those that leave open whether the request was carried out. */
const IN_DOUBT = [CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, INTERNAL, UNAVAILABLE];
/** The server's message for an authentication token that has become invalid. */
const STALE_TOKEN = /invalid auth token|auth store is old/;

/** The member does not serve yet: since etcd 3.6 a failed precondition, before `UNAVAILABLE`. */
const NOT_SERVING = /not capable|not supported for learner/;

/** An answer of the cluster, or none, that is no success. */
class EtcdError extends Error {
  /** So it has been for as long as a lease lives. */
  isForGood = false;

  /**
   * @param {number} code  of gRPC
   * @param {string} details
   * @param {string} endpoint
   */
  constructor(code, details, endpoint) {
    super(`${details} (${endpoint})`);
    this.name = 'EtcdError';
    this.code = code;
    this.details = details;
  }

  /** The request may have been carried out, or may still be. */
  get isInDoubt() {
    const isServing = this.code !== FAILED_PRECONDITION || !NOT_SERVING.test(this.details);
    return !isServing || IN_DOUBT.includes(this.code);
  }

  /** It can never be carried out like this; nothing has changed, unless it is refused for space. */
  get isFinal() {
    const isTokenForNow = this.isStaleToken && !this.isForGood;
    const isForNow = isTokenForNow || this.details.includes('too many requests');
    return !this.isInDoubt && !this.isLeaseGone && !isForNow;
  }

  /** This side has not waited any longer. */
  get isLate() {
    return this.code === DEADLINE_EXCEEDED || this.code === CANCELLED;
  }

  /** Whether the member has answered, rather than the connection failed. */
  get isAnswer() {
    return this.details.startsWith('etcdserver: ');
  }

  /** The cluster has no room for what the request writes. */
  get isForSpace() {
    return this.code === RESOURCE_EXHAUSTED && this.details.includes('space exceeded');
  }

  /** This user may not ask for it. */
  get isForbidden() {
    return this.code === PERMISSION_DENIED;
  }

  /** The revision to read is no longer there. */
  get isCompacted() {
    return this.code === OUT_OF_RANGE;
  }

  get isLeaseGone() {
    return this.details.includes('requested lease not found');
  }

  get isStaleToken() {
    return STALE_TOKEN.test(this.details);
  }
}

/** @type {Record<number, string>} */
const NAMES = {
  [INVALID_ARGUMENT]: 'QuotaExceededError',
  [PERMISSION_DENIED]: 'SecurityError',
  [RESOURCE_EXHAUSTED]: 'QuotaExceededError',
  [UNAUTHENTICATED]: 'SecurityError',
};
/** Messages about the user that gRPC calls an invalid argument. */
const ABOUT_RIGHTS = /auth|password|user name/;

/**
 * The lock manager's exception for a failure, as it crosses to the agent's thread.
 * @param {any} error
 * @returns {import('../remote/request-table.js').ErrorMessage}
 */
function describe(error) {
  const { code, message, name } = error;
  if (error instanceof DOMException) return { name, message };
  if (!(error instanceof EtcdError)) return { name: 'InvalidStateError', message };
  const isAboutRights = code === INVALID_ARGUMENT && ABOUT_RIGHTS.test(message);
  return {
    name: isAboutRights ? 'SecurityError' : (NAMES[code] ?? 'InvalidStateError'),
    message: `etcd refuses the request: ${message}`,
  };
}

module.exports = { EtcdError, UNAVAILABLE, describe };
