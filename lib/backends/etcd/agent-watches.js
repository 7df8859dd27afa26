'use strict';

const { dateNow, setTimeout } = require('../../time.js');
const { decodeText, DEFAULT_PRIORITY, endOf, PRIORITIES } = require('./keys.js');
const { toSessionInfo } = require('../remote/session-info.js');
const { UNKNOWN_SESSION, toRequest } = require('./bucket-view.js');
const { OvertakeLog } = require('./queue-order.js');
const { following, getAll, keyValuesOf, textOf } = require('./transaction.js');

/** @typedef {import('../remote/session-info.js').SessionInfo} SessionInfo */
/** @typedef {import('./keys.js').BucketKeys} BucketKeys */
/** @typedef {import('./keys.js').RequestKey} RequestKey */
/** @typedef {import('./session.js').Session} Session */
/** @typedef {import('./watch-stream.js').WatchEvent} WatchEvent */
/** @typedef {import('../../../types/backend.d.ts').LockEventType} LockEventType */
/** @typedef {import('../../../types/backend.d.ts').LockEvent} LockEvent */

/**
 * @typedef {object} Details  of a request; number and overtakes: 0 if they were compacted away
 * @property {number} number
 * @property {number} [overtakes]
 * @property {string} [token]  of a lock
 * @property {number} [since]  as its writer has put it down
 * @property {number | null} [grantedAt]  the same
 */

/** @typedef {RequestKey & Details} DetailedKey */

/**
 * @typedef {object} Changes  of one revision
 * @property {Map<string, DetailedKey>} put  by id, like the next one
 * @property {Map<string, DetailedKey>} removed
 * @property {Set<string>} ended  sessions
 * @property {boolean} isSteal  a holder was notified of a steal
 * @property {string} why  what a session said of ends: a word, and the ids of the requests
 * @property {Set<string>} closed  sessions that ended in order
 */

/** How long after a refusal of its first read a watch is tried again. */
const RETRY_MS = 1000;

/**
 * A watch of an agent, in one of its sessions: the events of the locks of a bucket, derived from
 * the changes of its keys. All keys that one change has touched have the same revision: so a
 * release differs from a steal or a death.
 */
class AgentWatch {
  #bucket;
  #session;
  #name;
  #post;
  #retryMs;
  /** @type {Map<string, SessionInfo>} by lease */
  #sessions = new Map();
  /** @type {Map<string, OvertakeLog>} by encoded name, of those in which one has overtaken since */
  #logs = new Map();
  /** @type {Map<string, number>} of held locks, by id: how often each was overtaken, if it was */
  #overtakes = new Map();
  /** Some events are missing (1); their number is unknown. */
  #lost;
  /** @type {{ cancel: () => void } | undefined} */
  #subscription;
  #isClosed = false;

  /**
   * @param {BucketKeys} bucket
   * @param {Session} session
   * @param {(events: LockEvent[]) => void} post
   * @param {{ name: string | undefined, hasMissed: boolean, retryMs?: number }} options  name:
   *   undefined: all; hasMissed: what happened before
   */
  constructor(bucket, session, post, { name, hasMissed, retryMs = RETRY_MS }) {
    this.#bucket = bucket;
    this.#session = session;
    this.#name = name;
    this.#post = post;
    this.#lost = hasMissed ? 1 : 0;
    this.#retryMs = retryMs;
  }

  /**
   * Resolves when it sees all events from then on, or cannot begin yet: all after the revision at
   * which the sessions were read. The answer to a watch "from now on" does not name its revision
   * (since etcd 3.4.38, 3.5.22 and 3.6.2). If the stream broke then, some events would be missing.
   */
  async begin() {
    if (this.#isClosed || this.#session.isOver) return;
    const { root, sessions } = this.#bucket;
    try {
      const { revision, responses } = await this.#session.read([getAll(sessions)]);
      if (this.#isClosed) return;
      for (const { key, value } of keyValuesOf(responses[0])) {
        this.#learn(textOf(key), textOf(value));
      }
      this.#subscription = this.#session.bucketWatches.add({
        key: root,
        end: endOf(root),
        from: following(revision),
        withPrevious: true,
        onEvents: (events) => this.take(events),
        onGap: () => this.#beginAnew(),
      });
    } catch {
      // That read was refused: a right may come back.
      setTimeout(() => this.#beginAnew(), this.#retryMs).unref();
    }
  }

  /** Events are missing: what it has learnt from them may be wrong. */
  #beginAnew() {
    this.#subscription?.cancel();
    for (const known of [this.#sessions, this.#logs, this.#overtakes]) known.clear();
    this.#lost = 1;
    void this.begin();
  }

  /** @param {WatchEvent[]} events */
  take(events) {
    /** @type {LockEvent[]} */
    const found = [];
    for (let start = 0; start < events.length;) {
      let end = start;
      while (events[end]?.revision === events[start].revision) end += 1;
      found.push(...this.#toLockEvents(events.slice(start, end)));
      start = end;
    }
    if (found.length === 0) return;
    found[0] = { ...found[0], lost: this.#lost };
    this.#lost = 0;
    this.#post(found);
  }

  close() {
    this.#isClosed = true;
    this.#subscription?.cancel();
  }

  /**
   * @param {string} key
   * @param {string} value
   */
  #learn(key, value) {
    if (key.endsWith('/about')) this.#sessions.set(this.#bucket.leaseOf(key), toSessionInfo(value));
  }

  /** @param {WatchEvent[]} events  of one revision */
  #sort(events) {
    /** @type {Changes} */
    const changes = {
      put: new Map(),
      removed: new Map(),
      ended: new Set(),
      isSteal: false,
      why: '',
      closed: new Set(),
    };
    for (const event of events) {
      const key = this.#bucket.parse(event.key);
      if (key === undefined) this.#sortOther(event, changes);
      else if (event.isPut) changes.put.set(key.id, toRequest(key, event.value));
      else changes.removed.set(key.id, this.#toRemoved(key, event.previous));
    }
    for (const [id, key] of changes.put) {
      if (!key.isHeld) continue;
      const { overtakes = 0 } = changes.removed.get(id) ?? {};
      if (overtakes > 0) this.#overtakes.set(id, overtakes);
      Object.assign(key, { overtakes, token: events[0].revision });
    }
    return changes;
  }

  /**
   * @param {RequestKey} key
   * @param {WatchEvent['previous']} previous
   * @returns {DetailedKey}
   */
  #toRemoved(key, previous) {
    const overtakes = this.#overtakes.get(key.id) ?? 0;
    this.#overtakes.delete(key.id);
    if (previous === undefined) {
      const priority = key.isHeld ? DEFAULT_PRIORITY : key.priority;
      return { ...key, number: 0, priority, overtakes };
    }
    const { created } = previous;
    const removed = toRequest(key, previous.value);
    if (key.isHeld) return { ...removed, overtakes, token: created };
    const log = this.#logs.get(key.encodedName);
    return { ...removed, overtakes: log?.countOver({ ...removed, created }) };
  }

  /**
   * @param {WatchEvent} event
   * @param {Changes} changes
   */
  #sortOther({ isPut, key, value, previous, revision }, changes) {
    const overtaken = this.#bucket.parseOvertakes(key);
    if (overtaken !== undefined) {
      if (isPut) this.#logs.set(overtaken, new OvertakeLog({ value, mod_revision: revision }));
      else this.#logs.delete(overtaken);
    } else if (isPut) {
      this.#learn(key, value);
      if (key.endsWith('/why')) changes.why = value;
      if (isStealNotice(key, value)) changes.isSteal = true;
    } else if (key.endsWith('/about')) {
      changes.ended.add(this.#bucket.leaseOf(key));
    } else if (key.endsWith('/why') && previous?.value === 'closed') {
      changes.closed.add(this.#bucket.leaseOf(key));
    }
  }

  /**
   * @param {WatchEvent[]} events  of one revision
   * @returns {LockEvent[]}
   */
  #toLockEvents(events) {
    const changes = this.#sort(events);
    const { put, removed } = changes;
    const ended = [...removed.values()].filter(({ id }) => !put.has(id));
    // Otherwise the priority of a request has changed.
    const begun = [...put.values()].filter(({ id, isHeld }) => isHeld || !removed.has(id));
    const found = [
      ...heldFirst(ended).map((key) => this.#describe(toEnd(key, changes), key)),
      ...heldFirst(begun).map((key) => this.#describe(key.isHeld ? 'granted' : 'queued', key)),
    ];
    for (const lease of changes.ended) this.#sessions.delete(lease);
    return found.filter(({ name }) => this.#name === undefined || this.#name === name);
  }

  /**
   * @param {LockEventType} type
   * @param {DetailedKey} key
   * @returns {LockEvent}
   */
  #describe(type, key) {
    const writtenAt = type === 'granted' ? key.grantedAt : type === 'queued' ? key.since : null;
    return {
      type,
      name: decodeText(key.encodedName),
      mode: key.class === 'x' ? 'exclusive' : 'shared',
      ...(this.#sessions.get(key.lease) ?? UNKNOWN_SESSION),
      requestId: key.number,
      token: key.token === undefined ? null : BigInt(key.token),
      time: writtenAt ?? dateNow(),
      lost: 0,
      priority: PRIORITIES[key.priority],
      overtakes: key.overtakes ?? 0,
    };
  }
}

/**
 * A release may grant the lock to a request that had no place in the queue, as a steal does.
 * @param {string} key  of a session
 * @param {string} value
 */
const isStealNotice = (key, value) => key.includes('/m/') && value.startsWith('{"stolen":true');

/** @param {DetailedKey[]} keys */
const heldFirst = (keys) => keys.sort((a, b) => Number(b.isHeld) - Number(a.isHeld));

/**
 * @param {RequestKey} key  that was removed
 * @param {Changes} changes
 * @returns {LockEventType}
 */
function toEnd({ id, isHeld, lease }, { ended, closed, isSteal, why }) {
  const plain = isHeld ? 'released' : 'aborted';
  const special = isHeld ? 'expired' : 'timedout';
  if (ended.has(lease)) return closed.has(lease) ? plain : 'died';
  if (isHeld && isSteal) return 'stolen';
  return why.startsWith(special) && why.includes(` ${id}`) ? special : plain;
}

module.exports = { AgentWatch };
