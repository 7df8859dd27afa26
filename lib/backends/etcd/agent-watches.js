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
 * @property {Map<string, DetailedKey>} granted  by id, like the next three
 * @property {Map<string, DetailedKey>} queued
 * @property {Map<string, DetailedKey>} leftHeld
 * @property {Map<string, DetailedKey>} leftQueue
 * @property {Set<string>} ended  sessions
 * @property {boolean} isSteal  a holder was notified of a steal
 * @property {string} why  what a session said of an end
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
        this.#learn(textOf(key), Buffer.from(value).toString('utf8'));
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
      granted: new Map(),
      queued: new Map(),
      leftHeld: new Map(),
      leftQueue: new Map(),
      ended: new Set(),
      isSteal: false,
      why: '',
      closed: new Set(),
    };
    for (const event of events) {
      const key = this.#bucket.parse(event.key);
      if (key === undefined) this.#sortOther(event, changes);
      else if (event.isPut) {
        changes[key.isHeld ? 'granted' : 'queued'].set(key.id, toRequest(key, event.value));
      } else {
        const removed = this.#toRemoved(key, event.previous);
        changes[key.isHeld ? 'leftHeld' : 'leftQueue'].set(key.id, removed);
      }
    }
    for (const [id, key] of changes.granted) {
      const { overtakes = 0 } = changes.leftQueue.get(id) ?? {};
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
    const { granted, queued, leftHeld, leftQueue } = changes;
    const found = [
      ...Array.from(leftHeld.values(), (key) => this.#describe(endOfHold(key, changes), key)),
      ...Array.from(leftQueue.values())
        .filter(({ id }) => !granted.has(id) && !queued.has(id))
        .map((key) => this.#describe(endOfWait(key, changes), key)),
      ...Array.from(granted.values(), (key) => this.#describe('granted', key)),
      ...Array.from(queued.values())
        .filter(({ id }) => !leftQueue.has(id)) // otherwise its priority has changed
        .map((key) => this.#describe('queued', key)),
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

/**
 * @param {string} id  of a request
 * @param {string} word
 * @param {string} why  that word, and who has ended so
 */
const isEndOf = (id, word, why) => why.startsWith(word) && why.includes(` ${id}`);

/**
 * @param {RequestKey} key
 * @param {Changes} changes
 * @returns {LockEventType}
 */
function endOfHold({ id, lease }, { ended, closed, isSteal, why }) {
  if (ended.has(lease)) return closed.has(lease) ? 'released' : 'died';
  if (isSteal) return 'stolen';
  return isEndOf(id, 'expired', why) ? 'expired' : 'released';
}

/**
 * @param {RequestKey} key
 * @param {Changes} changes
 * @returns {LockEventType}
 */
function endOfWait({ id, lease }, { ended, closed, why }) {
  if (ended.has(lease)) return closed.has(lease) ? 'aborted' : 'died';
  return isEndOf(id, 'timedout', why) ? 'timedout' : 'aborted';
}

module.exports = { AgentWatch };
