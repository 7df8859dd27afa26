'use strict';

const { PRIORITY_RANK, TASK_PRIORITIES } = require('../../task-priority.js');

// The keys of a bucket, as docs/etcd-protocol.md lists them.

/** @typedef {'x' | 'l' | 's'} RequestClass  exclusive, shared with a limit, shared */

/** All keys with that prefix, or from the key on to the end. @typedef {string | KeyRange} Range */
/** @typedef {{ key: string, end: string }} KeyRange */

/**
 * @typedef {object} RequestKey  a held or waiting request, as its key shows it
 * @property {string} encodedName
 * @property {boolean} isHeld
 * @property {number} priority  of a waiting one
 * @property {RequestClass} class
 * @property {string} id
 * @property {string} lease
 */

/** From the lowest up: by rank. */
const PRIORITIES = [...TASK_PRIORITIES].reverse();
/** The rank of a request that names none. */
const DEFAULT_PRIORITY = PRIORITY_RANK['user-visible'];
/** The lists of those that wait, by priority. Their keys are in this order: some are a range. */
const LISTS = ['p', 'q', 'r'];

const LEASE_DIGITS = 16;
const NUMBER_DIGITS = 8;

/**
 * Any UTF-16 code units: as UTF-8 where they have one, so that a person can read it.
 * @param {string} text
 */
function encodeText(text) {
  const utf8 = Buffer.from(text, 'utf8');
  const isExact = utf8.toString('utf8') === text;
  return isExact
    ? `u${utf8.toString('base64url')}`
    : `w${Buffer.from(text, 'utf16le').toString('base64url')}`;
}

/** @param {string} encoded */
const decodeText = (encoded) =>
  Buffer.from(encoded.slice(1), 'base64url').toString(encoded[0] === 'u' ? 'utf8' : 'utf16le');

/**
 * The end of the range of all keys that begin with a prefix.
 * @param {string} prefix  ends with '/'
 */
const endOf = (prefix) => `${prefix.slice(0, -1)}0`;

/** @param {string} lease  as a decimal number, signed */
const toLeaseId = (lease) =>
  BigInt.asUintN(64, BigInt(lease)).toString(16).padStart(LEASE_DIGITS, '0');

/** @param {string} leaseId */
const toLease = (leaseId) => BigInt.asIntN(64, BigInt(`0x${leaseId}`)).toString();

/**
 * @param {string} leaseId
 * @param {number} number
 */
const toRequestId = (leaseId, number) =>
  `${leaseId}-${number.toString(16).padStart(NUMBER_DIGITS, '0')}`;

/**
 * @param {string} id  of a request
 * @param {number} number
 */
const withNumber = (id, number) => toRequestId(id.slice(0, LEASE_DIGITS), number);

/** @param {string} id */
const numberOf = (id) => Number.parseInt(id.slice(LEASE_DIGITS + 1), 16);

/** The keys of one lock name. */
class NameKeys {
  /** @param {string} base  ends with '/' */
  constructor(base) {
    this.base = base;
    this.held = `${base}h/`;
    this.heldExclusive = `${base}h/x/`;
    this.heldShared = `${base}h/s/`;
    this.overtakes = `${base}o`;
    /** @type {KeyRange} all that wait */
    this.queue = { key: this.listOf(0), end: endOf(this.listOf(LISTS.length - 1)) };
  }

  /**
   * @param {RequestClass} requestClass
   * @param {string} id
   */
  heldKey(requestClass, id) {
    return `${requestClass === 'x' ? this.heldExclusive : this.heldShared}${id}`;
  }

  /** @param {number} priority */
  listOf(priority) {
    return `${this.base}${LISTS[priority]}/`;
  }

  /**
   * @param {number} priority
   * @returns {KeyRange[]} the requests that wait with a higher priority
   */
  above(priority) {
    if (priority === LISTS.length - 1) return [];
    return [{ key: this.listOf(priority + 1), end: this.queue.end }];
  }

  /**
   * @param {number} priority
   * @returns {KeyRange[]} the requests that wait with a lower priority
   */
  below(priority) {
    return priority === 0 ? [] : [{ key: this.queue.key, end: this.listOf(priority) }];
  }

  /**
   * @param {RequestClass} requestClass
   * @param {number} [priority]
   */
  queueOf(requestClass, priority = DEFAULT_PRIORITY) {
    return `${this.listOf(priority)}${requestClass}/`;
  }

  /**
   * @param {RequestClass} requestClass
   * @param {number} priority
   * @returns {KeyRange[]} the queue without the requests of this class and priority
   */
  queueExcept(requestClass, priority) {
    const list = this.queueOf(requestClass, priority);
    return [
      { key: this.queue.key, end: list },
      { key: endOf(list), end: this.queue.end },
    ];
  }

  /**
   * @param {RequestClass} requestClass
   * @param {string} id
   * @param {number} [priority]
   */
  queueKey(requestClass, id, priority) {
    return `${this.queueOf(requestClass, priority)}${id}`;
  }
}

/** The keys of one bucket. */
class BucketKeys {
  /**
   * @param {string} prefix
   * @param {string} bucket
   */
  constructor(prefix, bucket) {
    this.root = `${prefix}/${encodeText(bucket)}/`;
    this.names = `${this.root}n/`;
    this.sessions = `${this.root}s/`;
  }

  /** @param {string} name */
  ofName(name) {
    return new NameKeys(`${this.names}${encodeText(name)}/`);
  }

  /** @param {string} leaseId */
  session(leaseId) {
    return `${this.sessions}${leaseId}/`;
  }

  /** @param {string} leaseId */
  sessionKey(leaseId) {
    return `${this.session(leaseId)}about`;
  }

  /** @param {string} leaseId */
  why(leaseId) {
    return `${this.session(leaseId)}why`;
  }

  /** @param {string} leaseId */
  notifications(leaseId) {
    return `${this.session(leaseId)}m/`;
  }

  /** @param {string} id  of a request */
  notification(id) {
    return `${this.notifications(id.slice(0, LEASE_DIGITS))}${id}`;
  }

  /** @param {string} key  of a session */
  leaseOf(key) {
    return key.slice(this.sessions.length).split('/')[0];
  }

  /**
   * @param {string} key
   * @returns {string | undefined} the encoded name whose overtakes are in this key
   */
  parseOvertakes(key) {
    const [encodedName, last, ...more] = key.slice(this.names.length).split('/');
    const isTheirs = key.startsWith(this.names) && last === 'o' && more.length === 0;
    return isTheirs ? encodedName : undefined;
  }

  /**
   * Parses a key of this bucket.
   * @param {string} key
   * @returns {RequestKey | undefined} undefined: no request
   */
  parse(key) {
    if (!key.startsWith(this.names)) return undefined;
    const [encodedName, list, requestClass, id] = key.slice(this.names.length).split('/');
    const isHeld = list === 'h';
    if (id === undefined || !(isHeld || LISTS.includes(list))) return undefined;
    return {
      encodedName,
      isHeld,
      priority: LISTS.indexOf(list),
      class: /** @type {RequestClass} */ (requestClass),
      id,
      lease: id.slice(0, LEASE_DIGITS),
    };
  }
}

module.exports = {
  BucketKeys,
  DEFAULT_PRIORITY,
  NameKeys,
  PRIORITIES,
  decodeText,
  encodeText,
  endOf,
  numberOf,
  toLease,
  toLeaseId,
  toRequestId,
  withNumber,
};
