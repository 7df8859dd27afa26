'use strict';

/** @typedef {import('../../local/lock-entry.js').LockEntry} LockEntry */
/** @typedef {import('../../../../types/backend.d.ts').LockLossReason} LossReason */
/** @typedef {import('./broker-table.js').BrokerTable} BrokerTable */

/**
 * The target of messages for a client.
 * @typedef {{ send(message: unknown[]): void }} Outlet
 */

/**
 * @typedef {object} SessionDetails
 * @property {string} clientId
 * @property {number} pid
 * @property {string} pidNamespace  in which that is its process id
 * @property {number} threadId
 * @property {string} thread  the same for all clients of one thread, and no others
 * @property {string} lifeline  the socket that shows that the client lives, by its name or path
 */

/** A record of a grant without the name of the session; records of ends are shorter. */
const RECORD_BYTES = 80;

/** @param {unknown} value */
const bytesOf = (value) => Buffer.byteLength(JSON.stringify(value));

/**
 * One client, as long as it lives: it outlives brokers, and its connections. An agent of the lock
 * table.
 */
class Session {
  /**
   * Its requests that hold or wait, or whose loss the client has not received, by the client's
   * number.
   * @type {Map<number, LockEntry>}
   */
  entries = new Map();
  /** The highest number of a request so far. */
  maxId = 0;
  /** Of a request that this broker has decided on, or that the client's own thread has dropped. */
  decidedUpTo = 0;
  /** The highest number of a watch so far. */
  lastWatch = 0;
  /** It has said goodbye, or its client has ended. */
  isOver = false;
  /** @type {Outlet | undefined} the connection of the client's own thread */
  outlet = undefined;
  /** How many connections it has, including its helper thread's. */
  connections = 0;
  /** @type {string | undefined} when its process has started, where that is needed */
  start = undefined;
  /**
   * Blocked threads, by the number of the request they wait for.
   * @type {Map<number, () => void>}
   */
  waits = new Map();
  #table;
  #ownBytes;
  #owed = 0;

  /**
   * @param {string} id
   * @param {SessionDetails} details
   * @param {BrokerTable} table
   */
  constructor(id, { clientId, pid, pidNamespace, threadId, thread, lifeline }, table) {
    this.id = id;
    this.clientId = clientId;
    this.pid = pid;
    this.pidNamespace = pidNamespace;
    this.threadId = threadId;
    this.thread = thread;
    this.lifeline = lifeline;
    this.#table = table;
    this.#ownBytes = bytesOf(id) + RECORD_BYTES;
    this.#owe(this.#ownBytes);
  }

  /** Whether it came from an earlier broker and has not come back. */
  get isAway() {
    return this.connections === 0;
  }

  get details() {
    const { clientId, pid, pidNamespace, threadId, thread, lifeline } = this;
    return { clientId, pid, pidNamespace, threadId, thread, lifeline };
  }

  /**
   * Its process id, 0 where that says nothing to another client.
   * @param {Session} viewer
   */
  pidFor(viewer) {
    return viewer.pidNamespace === this.pidNamespace ? this.pid : 0;
  }

  /**
   * @param {number} id
   * @param {LockEntry} entry
   */
  put(id, entry) {
    this.drop(id);
    this.entries.set(id, entry);
    this.#owe(this.#owedFor(entry));
  }

  /** @param {number} id */
  drop(id) {
    const entry = this.entries.get(id);
    if (entry === undefined) return;
    this.entries.delete(id);
    this.#owe(-this.#owedFor(entry));
  }

  /** @param {string} start  of its process */
  noteStart(start) {
    this.start = start;
    this.#table.noteStart(this, start);
  }

  end() {
    this.isOver = true;
    this.entries.clear();
    this.#owe(-this.#owed);
  }

  /** @param {number} bytes  that it may take in the journal, itself and its requests, at most */
  #owe(bytes) {
    this.#owed += bytes;
    this.#table.owedBytes += bytes;
  }

  /**
   * The worst-case journal size of the end of a request: its grant, a loss, its end. They count
   * twice if its hold limit may have passed before the client released it.
   * @param {LockEntry} entry
   */
  #owedFor({ request: { name, extras } }) {
    const ends = 3 * this.#ownBytes;
    const isLimited = extras !== undefined && extras.holdLimit > 0;
    return isLimited ? 2 * ends + bytesOf([name, extras]) : ends;
  }

  /** @param {unknown[]} message */
  send(message) {
    this.outlet?.send(message);
  }

  /** @param {LockEntry} entry */
  onGranted(entry) {
    this.#table.noteGrant(this, entry);
    this.wake(entry.request.backendId);
  }

  /**
   * @param {LockEntry} entry
   * @param {LossReason} reason
   */
  onLost(entry, reason) {
    this.#table.noteLoss(this, entry, reason);
  }

  /**
   * A thread that waits for this request continues.
   * @param {number} id
   */
  wake(id) {
    const wait = this.waits.get(id);
    this.waits.delete(id);
    wait?.();
  }
}

/**
 * @param {Map<string, Session>} sessions
 * @returns {(session: { thread?: string }) => Iterable<LockEntry>} all of the same thread
 */
const entriesByThread = (sessions) =>
  function* entriesOf({ thread }) {
    for (const session of sessions.values()) {
      if (session.thread === thread) yield* session.entries.values();
    }
  };

module.exports = { Session, entriesByThread };
