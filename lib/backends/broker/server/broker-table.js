'use strict';

const {
  ANY_NUMBER,
  IF_AVAILABLE,
  PATIENT,
  PRIORITIES,
  SHARED,
  STEAL,
  priorityIn,
} = require('../wire.js');
const { eachOf } = require('../../../sliced.js');
const { LocalLockTable } = require('../../local/lock-table.js');
const { TokenCounter } = require('../../local/token-counter.js');
const { VERSION } = require('./journal.js');
const { clockName, machineNow, wallLead, wallNow } = require('../machine-clock.js');

/** @typedef {import('../../local/lock-table.js').LockEntry} LockEntry */
/** @typedef {import('../../../../types/backend.d.ts').LockLossReason} LossReason */
/** @typedef {import('../../../task-priority.js').TaskPriority} TaskPriority */

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
 * @property {string} [start]  when its process has started, where that is needed
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
  /** The highest number of a request so far, sent alone or in a handshake. */
  maxId = 0;
  /** The highest number of a request that this broker, or one before it, has decided on. */
  enteredUpTo = 0;
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
  /** The time of its last step. */
  lastT = 0;
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
  constructor(id, { clientId, pid, pidNamespace, threadId, thread, lifeline, start }, table) {
    this.id = id;
    this.clientId = clientId;
    this.pid = pid;
    this.pidNamespace = pidNamespace;
    this.threadId = threadId;
    this.thread = thread;
    this.lifeline = lifeline;
    this.start = start;
    this.#table = table;
    this.#ownBytes = bytesOf(id) + RECORD_BYTES;
    this.#owe(this.#ownBytes);
  }

  /** Whether it has no connection: it has ended, or came from an earlier broker. */
  get isAway() {
    return this.connections === 0;
  }

  get details() {
    const { clientId, pid, pidNamespace, threadId, thread, lifeline, start } = this;
    return { clientId, pid, pidNamespace, threadId, thread, lifeline, start };
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
    this.#owe(this.#bytesOfEnd);
  }

  /** @param {number} id */
  drop(id) {
    if (this.entries.delete(id)) this.#owe(-this.#bytesOfEnd);
  }

  /** @param {string} start  of its process */
  noteStart(start) {
    this.start = start;
    this.#table.noteSession(this);
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

  /** The worst-case journal size of a change of priority. */
  get bytesOfChange() {
    return this.#ownBytes;
  }

  /** The worst-case journal size of the end of a request: its grant, a loss, its end. */
  get #bytesOfEnd() {
    return 3 * this.#ownBytes;
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
   * @param {LockEntry} entry
   * @param {TaskPriority | null} priority
   */
  onContentionChanged({ request: { backendId } }, priority) {
    this.send(['k', backendId, priority]);
  }

  /**
   * A thread that waits for this request may be in a deadlock with itself now.
   * @param {LockEntry} entry
   */
  onPassed({ request: { backendId } }) {
    this.wake(backendId);
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

/** The fields of a request in the journal, as journal.js lists them. */

/** @param {LockEntry} entry */
const requestOf = (entry) => /** @type {ClientRequest} */ (/** @type {any} */ (entry.request));

/**
 * @param {string} sessionId
 * @param {LockEntry} entry  granted
 */
const grantOf = (sessionId, { request, grantedAt }) => [
  'G',
  sessionId,
  request.backendId,
  request.tokenHigh,
  request.tokenLow,
  grantedAt,
];

/** The kinds of the records of an entry: of its request, its grant, its loss. */
const KINDS = { queued: 'Q', held: 'QG', lost: 'QGL' };

/**
 * The parts of an entry that change while it waits.
 * @param {LockEntry} entry
 * @returns {[kinds: string, flags: number, order: number, overtakes: number]} see KINDS
 */
const stateOf = (entry) => [
  kindsOf(entry),
  requestOf(entry).flags,
  entry.isQueued ? entry.order : 0,
  entry.overtakes,
];

/**
 * @param {LockEntry} entry
 * @param {number} flags
 */
const hasOtherPriority = (entry, flags) => ((requestOf(entry).flags ^ flags) & PRIORITIES) !== 0;

/** @param {LockEntry} entry */
function kindsOf(entry) {
  if (entry.isQueued) return KINDS.queued;
  return entry.list === null ? KINDS.lost : KINDS.held;
}

/**
 * @param {string} sessionId
 * @param {LockEntry} entry
 * @param {ReturnType<typeof stateOf>} state
 */
function* recordsOf(sessionId, entry, [kinds, flags, ...position]) {
  const request = requestOf(entry);
  const [id, name, , t, extras] = request.fields;
  yield ['Q', sessionId, id, name, flags, t, extras, ...position];
  if (kinds !== KINDS.queued) yield grantOf(sessionId, entry);
  if (kinds === KINDS.lost) yield ['L', sessionId, request.backendId, entry.lossReason];
}

const NO_ROOM = ['QuotaExceededError', 'The journal of the broker has no room: the disk is full'];

/** Of a request, in its record; its position may follow. */
const REQUEST_PARTS = 5;

/** In the journal, a character takes up to six bytes. */
const MAX_BYTES_PER_UNIT = 6;
/** The other parts of a request's records, its ends included. */
const MAX_OTHER_BYTES = 1024;

/**
 * The worst-case journal size of a new session, which is noted once more with its start.
 * @param {SessionDetails} details
 */
const bytesOfSession = ({ clientId, pidNamespace, thread, lifeline }) =>
  MAX_OTHER_BYTES +
  2 *
    MAX_BYTES_PER_UNIT *
    (2 * clientId.length + pidNamespace.length + thread.length + lifeline.length);

/** @param {RequestFields} fields */
function bytesOfRequest([, name, , , extras]) {
  const units = name.length + (extras === null ? 0 : extras[2].length + extras[3].length);
  return MAX_OTHER_BYTES + MAX_BYTES_PER_UNIT * units;
}

/**
 * The parts of a request that are sent: its number, its name, flags, the time at which it was made,
 * extras.
 * @typedef {[
 *   id: number,
 *   name: string,
 *   flags: number,
 *   t: number,
 *   extras: WireExtras | null,
 * ]} RequestFields
 */
/**
 * @typedef {[
 *   limit: number,
 *   holdLimit: number,
 *   label: string,
 *   callSite: string,
 *   high: number,
 *   low: number,
 *   maxPending: number,
 * ]} WireExtras  high and low: the token of the lock in whose callback it was made
 */

/**
 * @param {WireExtras | null} extras
 * @param {number} flags
 * @returns {import('../../../../types/backend.d.ts').LockRequestExtras | undefined}
 */
function toExtras(extras, flags) {
  if (extras === null) return undefined;
  const [limit, holdLimit, label, callSite, tokenHigh, tokenLow, max] = extras;
  const enclosing = /** @type {any} */ (
    tokenHigh === 0 && tokenLow === 0 ? undefined : { tokenHigh, tokenLow }
  );
  const maxPending = max === ANY_NUMBER ? Infinity : max;
  return {
    limit,
    holdLimit,
    maxPending,
    priority: priorityIn(flags),
    label,
    callSite,
    deadlock: 'ignore',
    enclosing,
  };
}

/**
 * A request as the lock table sees it. The callbacks do nothing: the session sends grants and
 * losses to the client.
 */
class ClientRequest {
  tokenHigh = 0;
  tokenLow = 0;

  /** @param {RequestFields} fields */
  constructor([id, name, flags, t, extras]) {
    this.backendId = id;
    this.name = name;
    this.flags = flags;
    this.t = t;
    this.wireExtras = extras;
    this.extras = toExtras(extras, flags);
    /** @type {'shared' | 'exclusive'} */
    this.mode = (flags & SHARED) === 0 ? 'exclusive' : 'shared';
    this.ifAvailable = (flags & IF_AVAILABLE) !== 0;
    this.steal = (flags & STEAL) !== 0;
  }

  get isPatient() {
    return (this.flags & PATIENT) !== 0;
  }

  granted() {}
  contentionChanged() {}
  missed() {}
  failed() {}
  lost() {}

  get fields() {
    return [this.backendId, this.name, this.flags, this.t, this.wireExtras];
  }
}

/** @typedef {{ add(record: unknown[]): void, hasRoomFor(bytes: number): boolean }} JournalWriter */

const CLOCK = {
  now: machineNow,
  toWall: (/** @type {number} */ t) => wallLead() + t,
};

/**
 * The lock table of a broker, with the rules of the local table. Its agents are the sessions of
 * clients, and every change is noted in a journal. Knows no sockets.
 */
class BrokerTable {
  /** @type {Map<string, Session>} */
  sessions = new Map();
  /** The worst-case journal size of the ends of all sessions and requests. */
  owedBytes = 0;
  #table;
  #tokens;
  #journal;
  /** The shift from the times of a journal to the times of this broker's clock. */
  #clockShift = 0;

  /**
   * @param {(table: BrokerTable) => JournalWriter} openJournal
   * @param {number} number  of the broker
   */
  constructor(openJournal, number) {
    this.#tokens = TokenCounter.startingAt(Math.floor(wallNow()));
    this.#table = new LocalLockTable({ clock: CLOCK, tokens: this.#tokens });
    this.number = number;
    this.#journal = openJournal(this);
  }

  get watches() {
    return this.#table.watches;
  }

  snapshot() {
    return this.#table.snapshot();
  }

  /** @param {Session} viewer */
  inspect(viewer) {
    return this.#table.inspect(viewer);
  }

  /**
   * @param {Session} session  of the requests
   * @param {number[]} ids
   * @param {import('../../../../types/backend.d.ts').WaitWalkOptions} options
   */
  waitsOf(session, ids, options) {
    const starts = ids.map((id) => /** @type {LockEntry} */ (session.entries.get(id)));
    const entriesOf = entriesByThread(this.sessions);
    return this.#table.waitsOf(starts, options, session, entriesOf);
  }

  /**
   * @param {string} name
   * @param {number} max
   * @param {Session} viewer
   */
  holdersOf(name, max, viewer) {
    return this.#table.holdersOf(name, max, viewer);
  }

  /**
   * @param {string} name
   * @param {number} least
   */
  isLocked(name, least) {
    return this.#table.isLocked(name, least);
  }

  /**
   * The session of a client that has come, or come back.
   * @param {string} id
   * @param {SessionDetails} details
   * @throws DOMException (QuotaExceededError) for a new one
   */
  openSession(id, details) {
    let session = this.sessions.get(id);
    if (session === undefined) {
      if (!this.#journal.hasRoomFor(bytesOfSession(details)))
        throw new DOMException(NO_ROOM[1], NO_ROOM[0]);
      session = new Session(id, { ...details, start: undefined }, this);
      this.sessions.set(id, session);
      this.noteSession(session);
    }
    return session;
  }

  /** @param {Session} session */
  noteSession({ id, details }) {
    this.#journal.add(['S', id, details]);
  }

  /**
   * Releases everything that the client has.
   * @param {Session} session
   * @param {boolean} hasDied  or else: it has disconnected in order
   */
  endSession(session, hasDied) {
    if (session.isOver) return;
    this.sessions.delete(session.id);
    // First of all: what follows gives its locks to others.
    this.#journal.add(['E', session.id]);
    const entries = [...session.entries.values()].filter((entry) => entry.list !== null);
    session.end();
    this.watches.closeAllOf(session);
    this.#table.removeAll(entries, hasDied);
  }

  /**
   * Adds a new request; a request that is known already is left as it is.
   * @param {Session} session
   * @param {RequestFields} fields
   */
  request(session, fields) {
    const [id, , , t] = fields;
    session.maxId = Math.max(session.maxId, id);
    session.enteredUpTo = Math.max(session.enteredUpTo, id);
    session.decidedUpTo = Math.max(session.decidedUpTo, id);
    if (!this.#journal.hasRoomFor(bytesOfRequest(fields))) {
      session.send(['e', id, ...NO_ROOM]);
      session.wake(id);
      return;
    }
    const request = new ClientRequest(fields);
    const entry = this.#table.request(session, request, t);
    if (entry === null) session.send(['m', id]);
    else this.#take(session, request, entry);
    session.wake(id);
  }

  /**
   * @param {Session} session
   * @param {ClientRequest} request
   * @param {LockEntry} entry
   */
  #take(session, request, entry) {
    session.put(request.backendId, entry);
    this.#journal.add(['Q', session.id, ...request.fields]);
    if (entry.isHeld) this.noteGrant(session, entry);
    else if (!request.isPatient) session.send(['w', request.backendId]);
  }

  /**
   * @param {Session} session
   * @param {LockEntry} entry  that holds the lock now
   */
  noteGrant(session, entry) {
    const { request } = entry;
    this.#journal.add(grantOf(session.id, entry));
    session.send(['g', request.backendId, request.tokenHigh, request.tokenLow]);
  }

  /**
   * @param {Session} session
   * @param {LockEntry} entry
   * @param {LossReason} reason
   */
  noteLoss(session, entry, reason) {
    const { backendId, tokenHigh, tokenLow } = entry.request;
    this.#journal.add(['L', session.id, backendId, reason]);
    session.send(['l', backendId, reason, tokenHigh, tokenLow]);
  }

  /**
   * Releases a lock. A lost lock is kept until the client has received the loss.
   * @param {Session} session
   * @param {number} id
   * @returns {LossReason | undefined} why it had been lost
   */
  release(session, id) {
    const entry = session.entries.get(id);
    if (entry === undefined) return undefined;
    this.#table.expireIfDue(entry);
    if (entry.list !== null) this.#end(session, id, entry, false);
    return entry.lossReason;
  }

  /**
   * Takes back what waits, or what was granted or lost on the way.
   * @param {Session} session
   * @param {number} id
   * @param {boolean} isTimeout
   */
  cancel(session, id, isTimeout) {
    const entry = session.entries.get(id);
    if (entry !== undefined) this.#end(session, id, entry, isTimeout);
    session.wake(id);
  }

  /**
   * @param {Session} session
   * @param {number} id
   * @param {LockEntry} entry
   * @param {boolean} isTimeout
   */
  #end(session, id, entry, isTimeout) {
    session.drop(id);
    this.#journal.add(['D', session.id, id]);
    this.#table.remove(entry, isTimeout);
  }

  /**
   * Has no effect if the disk is full.
   * @param {Session} session
   * @param {number} id
   * @param {number} flags  with the priority
   */
  changePriority(session, id, flags) {
    const entry = session.entries.get(id);
    if (entry === undefined || !entry.isQueued) return;
    if (!hasOtherPriority(entry, flags)) return;
    if (!this.#journal.hasRoomFor(session.bytesOfChange)) return;
    this.#journal.add(['P', session.id, id, flags]);
    this.#setPriority(entry, flags);
    this.#table.process(entry);
  }

  /**
   * @param {LockEntry} entry
   * @param {number} flags
   */
  #setPriority(entry, flags) {
    const request = requestOf(entry);
    request.flags = (request.flags & ~PRIORITIES) | (flags & PRIORITIES);
    this.#table.move(entry, priorityIn(flags));
  }

  /**
   * @param {Session} session
   * @param {number} id  of a held lock
   * @param {TaskPriority | null} known  the highest priority that waits, as its client knows it
   */
  watchContention(session, id, known) {
    const entry = session.entries.get(id);
    if (entry === undefined) return;
    const waiting = this.#table.watchContention(entry);
    if (waiting !== known) session.onContentionChanged(entry, waiting);
  }

  /**
   * Drops a lost lock: the client has received the loss.
   * @param {Session} session
   * @param {number} id
   */
  forget(session, id) {
    const entry = session.entries.get(id);
    if (entry === undefined || entry.list !== null) return;
    session.drop(id);
    this.#journal.add(['D', session.id, id]);
  }

  /**
   * All there is to know, as records of a journal. Each is made when it is read, and shows the
   * moment of this call.
   */
  records() {
    const { high, low } = this.#tokens;
    const head = ['J', VERSION, this.number, high, low, clockName(), wallLead()];
    const sessions = Array.from(this.sessions.values(), ({ id, details, entries }) => ({
      id,
      details,
      entries: [...entries.values()],
      states: Array.from(entries.values(), stateOf),
    }));
    return (function* () {
      yield head;
      for (const { id, details, entries, states } of sessions) {
        yield ['S', id, details];
        for (let i = 0; i < entries.length; i += 1) yield* recordsOf(id, entries[i], states[i]);
      }
    })();
  }

  /**
   * Applies the records of a journal. Grants nothing: see processAll().
   * @param {any[][]} records
   */
  *restore(records) {
    yield* eachOf(records, ([kind, sessionId, ...rest]) => {
      if (kind === 'J') this.#restoreHead(rest);
      else if (kind === 'S') this.#restoreSession(sessionId, rest[0]);
      else if (kind === 'E') this.#restoreEnd(sessionId);
      else this.#restoreRequest(kind, this.sessions.get(sessionId), rest);
    });
    for (const session of this.sessions.values()) {
      yield* eachOf(session.entries.values(), (entry) => this.#dropIfUndecided(session, entry));
    }
    yield* this.#table.startHoldLimits();
  }

  /**
   * A request that never waits has no grant, since the journal was cut in between: its client makes
   * it again.
   * @param {Session} session
   * @param {LockEntry} entry
   */
  #dropIfUndecided(session, entry) {
    const { ifAvailable, steal, backendId } = entry.request;
    if (!entry.isQueued || !(ifAvailable || steal)) return;
    this.#table.drop(entry);
    session.drop(backendId);
  }

  /** @param {any[]} head  what is before: its version and number */
  #restoreHead([, high, low, clock, lead]) {
    this.#tokens.raiseTo(high, low);
    // The broker before may have run on another runtime or in another time namespace.
    this.#clockShift = clock === clockName() ? 0 : lead - wallLead();
  }

  /** @param {number} t  of a journal, by the clock of its broker, which is known to some ms only */
  #pastOf(t) {
    return Math.min(t + this.#clockShift, machineNow());
  }

  /**
   * @param {string} id
   * @param {SessionDetails} details
   */
  #restoreSession(id, details) {
    const known = this.sessions.get(id);
    if (known === undefined) this.sessions.set(id, new Session(id, details, this));
    else known.start = details.start;
  }

  /** @param {string} sessionId */
  #restoreEnd(sessionId) {
    const session = this.sessions.get(sessionId);
    this.sessions.delete(sessionId);
    for (const entry of session?.entries.values() ?? []) this.#table.drop(entry);
    session?.end();
  }

  /**
   * @param {string} kind
   * @param {Session | undefined} session
   * @param {any[]} rest
   */
  #restoreRequest(kind, session, rest) {
    if (session === undefined) return;
    const [id] = rest;
    session.maxId = Math.max(session.maxId, id);
    session.enteredUpTo = Math.max(session.enteredUpTo, id);
    const known = session.entries.get(id);
    if (kind === 'Q') {
      const request = new ClientRequest(/** @type {RequestFields} */ (rest));
      request.t = this.#pastOf(request.t);
      const [order, overtakes] = rest.slice(REQUEST_PARTS);
      const position = order === undefined ? undefined : { order, overtakes };
      session.put(id, this.#table.restore(session, request, request.t, position));
    } else if (known === undefined) {
      return;
    } else if (kind === 'G') this.#restoreGrant(known, rest.slice(1));
    else if (kind === 'P') this.#setPriority(known, rest[1]);
    else if (kind === 'L') this.#restoreLoss(known, rest[1]);
    else {
      this.#table.drop(known);
      session.drop(id);
    }
  }

  /**
   * @param {LockEntry} entry
   * @param {LossReason} reason
   */
  #restoreLoss(entry, reason) {
    this.#table.drop(entry);
    entry.lossReason = reason;
  }

  /**
   * @param {LockEntry} entry
   * @param {any[]} grant
   */
  #restoreGrant(entry, [high, low, grantedAt]) {
    entry.request.tokenHigh = high;
    entry.request.tokenLow = low;
    this.#tokens.raiseTo(high, low);
    this.#table.restoreGrant(entry, this.#pastOf(grantedAt));
  }

  /**
   * Begins without a journal that can be understood.
   * @param {any[][]} records  of it that can be read
   * @param {number} unread  how many tokens the others may name, at most
   */
  passTokens(records, unread) {
    for (const record of records) {
      const at = { J: 3, G: 3 }[/** @type {'J'} */ (record[0])];
      const token = at === undefined ? [] : record.slice(at, at + 2);
      if (token.length === 2 && token.every(Number.isSafeInteger)) {
        this.#tokens.raiseTo(token[0], token[1]);
      }
    }
    this.#tokens.skip(unread);
  }

  /**
   * Takes over the locks that the clients report to hold. A client may have lost its lock without
   * notice: to a holder with a later token that excludes it.
   * @param {import('./recovery.js').Hold[]} holds  in the order of the grants
   */
  *adopt(holds) {
    yield* eachOf(holds, ({ session, fields, high, low }) => {
      if (session.isOver) return;
      const request = new ClientRequest(fields);
      const entry = this.#table.restore(session, request, request.t);
      session.put(request.backendId, entry);
      for (const victim of this.#table.inTheWayOf(entry)) this.#restoreLoss(victim, 'disconnected');
      this.#restoreGrant(entry, [high, low, machineNow()]);
    });
    yield* this.#table.startHoldLimits();
  }

  /** Grants what is grantable: after restore(), when all clients have had time to come back. */
  processAll() {
    return this.#table.processAll();
  }
}

module.exports = { Session, entriesByThread, BrokerTable, hasOtherPriority };
