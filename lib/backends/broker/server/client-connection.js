'use strict';

const { map } = require('../../local/lock-table.js');
const { WaitPath } = require('../../wait-path.js');
const {
  toPages,
  toPlain,
  isProof,
  newNonce,
  proofOf,
  LineReader,
  toLine,
  WireError,
  VIEW,
  WIRE_VERSION,
} = require('../wire.js');
const { setImmediate } = require('../../../time.js');
const { ReportStep } = require('./recovery.js');
const { CLOCK_KIND, machineNow, wallLead } = require('../machine-clock.js');

/** @typedef {import('../../local/lock-table.js').LockEntry} LockEntry */
/** @typedef {import('../../local/lock-table.js').Agent} Agent */

/**
 * Whether a queued request waits for its own thread.
 * @param {LockEntry} entry
 * @param {(agent: Agent) => boolean} isOfThread
 */
function wouldSelfDeadlock(entry, isOfThread) {
  const path = new WaitPath(entry);
  for (let before = entry.previous; before !== null; before = before.previous) {
    if (path.isStoppedBy(before, isOfThread(before.agent))) return true;
  }
  for (const holder of entry.resource.held) {
    if (path.isStoppedBy(holder, isOfThread(holder.agent))) return true;
  }
  return false;
}

/** @typedef {import('./broker-table.js').BrokerTable} BrokerTable */
/** @typedef {import('./broker-table.js').Session} Session */
/** @typedef {import('../../../../types/backend.d.ts').LockBackendWatch} LockBackendWatch */

/** Questions of clients, and their answers. */

const MAX_EVENTS = 1024;
const MAX_HOLDERS = 1024;

/**
 * @typedef {(
 *   table: BrokerTable,
 *   session: Session,
 *   argument: any[],
 *   reply: (value: unknown) => void,
 * ) => void | Promise<void>} Answer
 */

/** @type {Record<string, Answer>} */
const ANSWERS = {
  snapshot: (table, _session, _argument, reply) => reply(table.snapshot()),

  inspect: (table, session, _argument, reply) => reply(toPlainLists(table.inspect(session))),

  waitsOf(table, session, [ids, withQueues], reply) {
    const known = Array.isArray(ids) ? ids : []; // without a list the client has no requests
    reply(toPlainLists(table.waitsOf(session, known, { withQueues })));
  },

  /** Without the name, which may be longer than an answer to a blocked thread. */
  holdersOf(table, session, [name, max], reply) {
    const holders = table.holdersOf(name, Math.min(max, MAX_HOLDERS), session);
    reply(holders.map((holder) => toPlain({ ...holder, name: '' })));
  },

  isLocked: (table, _session, [name, least], reply) => reply(table.isLocked(name, least)),

  /** The helper thread and its client may both open it, and the helper late. */
  watch(table, session, [id, name], reply) {
    if (id > session.lastWatch) {
      session.lastWatch = id;
      watchesOf(session).set(id, table.watches.open(session, name ?? undefined));
    }
    reply(null);
  },

  async readWatch(_table, session, [id, max], reply) {
    const events = await watchesOf(session).get(id)?.read(Math.min(max, MAX_EVENTS));
    reply((events ?? []).map(toPlain));
  },

  closeWatch(_table, session, [id], reply) {
    watchesOf(session).get(id)?.close();
    watchesOf(session).delete(id);
    reply(null);
  },

  /** A blocked thread gives a lock back. */
  release: (table, session, [id], reply) => reply(table.release(session, id) ?? null),

  /** A blocked thread waits for its request. */
  wait(_table, session, [id], reply) {
    const isOfThread = (/** @type {any} */ agent) => agent.thread === session.thread;
    const answer = () => {
      const entry = session.entries.get(id);
      if (entry === undefined) reply(id <= session.maxId ? ['missed'] : ['unknown']);
      else if (!entry.isQueued) reply(['granted', entry.request.tokenHigh, entry.request.tokenLow]);
      else if (wouldSelfDeadlock(entry, isOfThread)) reply(['deadlock']);
      else session.waits.set(id, answer);
    };
    answer();
  },

  /** A blocked thread waits no longer. */
  cancel(table, session, [id, isTimeout], reply) {
    session.waits.delete(id);
    table.cancel(session, id, isTimeout);
    reply(null);
  },
};

/** @type {WeakMap<Session, Map<number, LockBackendWatch>>} */
const watches = new WeakMap();

/** @param {Session} session */
function watchesOf(session) {
  let ofIt = watches.get(session);
  if (ofIt === undefined) {
    ofIt = new Map();
    watches.set(session, ofIt);
  }
  return ofIt;
}

/**
 * @param {BrokerTable} table
 * @param {ClientConnection} connection
 * @param {{ call: number, what: string, argument: any[] }} rpc
 */
function answerCall(table, connection, { call, what, argument }) {
  const session = /** @type {Session} */ (connection.session);
  // Only the call fails: the connection has locks.
  const fail = (/** @type {any} */ { name, message }) =>
    connection.send(['x', call, 'OperationError', `${name}: ${message}`]);
  const reply = (/** @type {unknown} */ value) =>
    void sendAnswer(connection, call, value).catch(fail);
  try {
    ANSWERS[what](table, session, argument, reply)?.catch(fail);
  } catch (error) {
    fail(error);
  }
}

/** @param {import('../../local/lock-table.js').Lists<any>} lists */
const toPlainLists = ({ held, pending, ...rest }) => ({
  ...rest,
  held: map(held, toPlain),
  pending: map(pending, toPlain),
});

/** @param {any} item  a detail, an event, or a word of an answer */
const unitsOf = (item) => (item?.name?.length ?? 0) + (item?.label?.length ?? 0);

/**
 * A long list goes before the answer, in pages. Others are served between two of them, and each
 * page is made only then.
 * @param {ClientConnection} connection
 * @param {number} call
 * @param {any} value  its lists may be any iterables
 */
async function sendAnswer(connection, call, value) {
  const isList = Array.isArray(value);
  const answer = isList || value?.held === undefined ? { '': value } : { ...value };
  const keys = isList ? [''] : ['held', 'pending'].filter((key) => key in answer);
  for (const key of keys) {
    const pages = toPages(answer[key], unitsOf);
    let page = pages.next();
    for (; !page.done; page = pages.next()) {
      if (connection.isClosed) return;
      connection.send(['p', call, key, page.value]);
      await connection.afterSending();
    }
    answer[key] = page.value;
  }
  connection.send(['a', call, '' in answer ? answer[''] : answer]);
}

/** @param {unknown} what */
const isCall = (what) => typeof what === 'string' && Object.hasOwn(ANSWERS, what);

/** @typedef {import('./broker.js').Broker} Broker */

/** A client that has sent so much at once has probably sent more. */
const BACKLOG_BYTES = 2 ** 14;
/** After this time without a message, the broker shows a client with a backlog that it lives. */
const LIFE_MS = 1000;

/**
 * One connection of a client, as the broker sees it. A client that violates the protocol loses its
 * connection; the others do not notice.
 */
class ClientConnection {
  /** @type {Session | undefined} after hello */
  session = undefined;
  /** It is of the thread that is asked while the client's own one is blocked. */
  isHelper = false;
  #broker;
  #socket;
  #nonce = newNonce();
  #isKnown = false;
  #isClosed = false;
  /** @type {string[]} */
  #out = [];
  #lastT = 0;
  #lastSentAt = 0;
  /** @type {Map<number, import('./recovery.js').ReportStep>} that go with the hello that follows */
  #reports = new Map();
  /** @type {any[][]} calls that go with it, too */
  #earlyCalls = [];
  /** @type {any[][]} hello and all that has followed, while the broker takes over */
  #held = [];
  #reader = new LineReader((message) => this.#receive(message));

  /**
   * @param {Broker} broker
   * @param {import('node:net').Socket} socket
   */
  constructor(broker, socket) {
    this.#broker = broker;
    this.#socket = socket;
    socket.on('data', (bytes) => {
      this.#read(() => this.#reader.push(bytes));
      if (bytes.length >= BACKLOG_BYTES) this.#showLife();
    });
    // Not only 'close': it comes after the immediates of the loop's turn that has read the end.
    for (const end of ['end', 'error', 'close']) socket.on(end, () => this.#onClose());
    this.sendNow(['hi', WIRE_VERSION, this.#nonce, CLOCK_KIND, machineNow(), wallLead()]);
  }

  /** @param {() => void} read  calls #receive() */
  #read(read) {
    this.#broker.beginReading();
    try {
      read();
    } catch (error) {
      this.#fail(/** @type {Error} */ (error));
    }
    this.#broker.endReading();
  }

  /** The broker has taken over. */
  receiveHandshake() {
    this.#read(() => {
      for (const message of this.#held.splice(0)) this.#receive(message);
    });
  }

  get table() {
    return this.#broker.table;
  }

  get isClosed() {
    return this.#isClosed;
  }

  /** @param {unknown[]} message */
  send(message) {
    if (this.#isClosed) return;
    if (this.#out.length === 0) this.#broker.toFlush(this);
    this.#out.push(toLine(message));
  }

  /** @param {unknown[]} message  without news of locks: it goes before what waits */
  sendNow(message) {
    this.#write(toLine(message));
  }

  /** @param {string} text */
  #write(text) {
    this.#lastSentAt = machineNow();
    if (!this.#isClosed) this.#socket.write(text);
  }

  /** The answer to a call has to wait until all that was sent before the call is read. */
  #showLife() {
    if (machineNow() - this.#lastSentAt > LIFE_MS) this.sendNow(['.']);
  }

  /** Sends what waits: the journal has it. */
  flush() {
    if (this.#out.length === 0) return;
    const text = this.#out.join('');
    this.#out = [];
    this.#write(text);
  }

  /** Resolves in a later iteration of the loop, when the kernel has most of it. */
  async afterSending() {
    await new Promise((resolve) => setImmediate(resolve));
    const socket = this.#socket;
    if (this.#isClosed || !socket.writableNeedDrain) return;
    await new Promise((resolve) => {
      const end = () => {
        socket.off('drain', end);
        socket.off('close', end);
        resolve(undefined);
      };
      socket.on('drain', end);
      socket.on('close', end);
    });
  }

  /** Ends the connection, whatever the other side does. */
  destroy() {
    this.#socket.destroy();
  }

  /** @param {Error} error */
  #fail(error) {
    this.#broker.log(`a connection was ended: ${error.message}`);
    this.#socket.destroy();
  }

  #onClose() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.destroy();
    this.#broker.onClose(this);
  }

  /** @param {any[]} message */
  #receive(message) {
    const [kind, ...rest] = message;
    if (this.#isClosed) return;
    if (kind === 'auth') this.#authenticate(rest);
    else if (!this.#isKnown) throw new WireError('a message before the proof');
    else if (this.#isHeld(kind)) this.#held.push(message);
    else if (kind === '+') this.#addRequests(rest[0]);
    else if (kind === 'hello') this.#handshake(rest[0], rest[1]);
    else if (this.session !== undefined) this.#step(kind, rest);
    else if (kind === '?') this.#earlyCalls.push(rest);
    else if (kind === 'k')
      return; // it follows a hello that was refused
    else throw new WireError('a message before hello');
  }

  /** @param {string} kind  of a message */
  #isHeld(kind) {
    return this.#held.length > 0 || (kind === 'hello' && !this.#broker.isRestored);
  }

  /** @param {any[]} message */
  #authenticate([proof, nonce]) {
    const { key } = this.#broker;
    if (!isProof(key, 'client', this.#nonce, proof) || typeof nonce !== 'string') {
      throw new WireError('a wrong proof');
    }
    this.#isKnown = true;
    this.#reader.trust();
    this.sendNow(['welcome', proofOf(key, 'broker', nonce)]);
  }

  /** @param {any} requests  a page of them */
  #addRequests(requests) {
    if (!Array.isArray(requests)) throw new WireError('requests that are no list');
    const now = machineNow();
    for (const request of requests) {
      checkReport(request);
      const [view, fields, high, low, at] = request;
      // If a client has another clock, its times are right to one exchange only.
      fields[3] = Math.min(fields[3], now);
      const step = new ReportStep(this, { view, fields, high, low }, Math.min(at, now));
      this.#reports.set(fields[0], step);
    }
  }

  /**
   * @param {any} state
   * @param {any} isHelper  the connection is of the helper thread
   */
  #handshake(state, isHelper) {
    checkState(state);
    this.#addRequests(state.requests);
    const reports = this.#reports;
    this.#reports = new Map();
    this.isHelper = isHelper === true;
    this.#broker.handshake(this, state, reports);
    const calls = this.#earlyCalls.splice(0);
    if (this.session !== undefined) for (const call of calls) this.#call(call);
  }

  /**
   * @param {string} kind
   * @param {any[]} rest
   */
  #step(kind, rest) {
    const session = /** @type {Session} */ (this.session);
    const { table } = this.#broker;
    if (kind === 'q') {
      checkFields(rest);
      const [id, name, flags, t, extras] = rest;
      // Requested before, and over: it comes once more by another connection.
      this.#at(
        t,
        (at) => id > session.maxId && table.request(session, [id, name, flags, at, extras]),
      );
    } else if (kind === 'r') {
      const [id, t] = numbers(rest, 2);
      this.#at(t, () => this.send(['d', id, table.release(session, id) ?? null]));
    } else if (kind === 'c') {
      const [id, isTimeout, t] = numbers(rest, 3);
      this.#at(t, () => table.cancel(session, id, isTimeout === 1));
    } else if (kind === 'y') {
      const [id, flags, t] = numbers(rest, 3);
      this.#at(t, () => table.changePriority(session, id, flags));
    } else if (kind === 'f') {
      const [id] = numbers(rest, 1);
      this.#at(this.#lastT, () => table.forget(session, id));
    } else if (kind === 'k') {
      numbers(rest, 1);
      const [id, known] = rest;
      this.#at(this.#lastT, () => table.watchContention(session, id, known));
    } else if (kind === '?') {
      this.#call(rest);
    } else if (kind === 'bye') {
      this.#at(rest[0], () => table.endSession(session, false));
    } else {
      throw new WireError('a message of an unknown kind');
    }
  }

  /** @param {any[]} rest */
  #call([call, what, t, argument]) {
    numbers([call, t], 2);
    if (!isCall(what) || !Array.isArray(argument)) throw new WireError('a bad call');
    this.#at(t, () => answerCall(this.#broker.table, this, { call, what, argument }));
  }

  /**
   * A step takes its place by the time at which the client wanted it, which is never before its
   * last one nor in the future.
   * @param {number} t
   * @param {(t: number) => void} apply  called with the time of its place
   */
  #at(t, apply) {
    if (!Number.isFinite(t)) throw new WireError('a time that is no number');
    const inOrder = Math.min(Math.max(t, this.#lastT), machineNow());
    this.#lastT = Math.max(inOrder, this.#lastT);
    const { session } = this;
    const at = this.#lastT;
    if (session !== undefined) session.lastT = Math.max(session.lastT, at);
    // A client that has disconnected in order would never release a lock granted to it later.
    this.#broker.addStep({ t: at, apply: () => !session?.isOver && apply(at) });
  }
}

/**
 * @param {any[]} values
 * @param {number} count
 * @returns {number[]}
 */
function numbers(values, count) {
  for (let i = 0; i < count; i += 1) {
    // 1e999 is JSON, too.
    if (!Number.isFinite(values[i])) throw new WireError('a number is missing');
  }
  return values;
}

/** @param {any[]} fields */
function checkFields([id, name, flags, t, extras]) {
  numbers([id, flags, t], 3);
  if (!Number.isSafeInteger(id) || id < 1) throw new WireError('a request without a number');
  if (typeof name !== 'string') throw new WireError('a request without a name');
  if (extras === null) return;
  if (!Array.isArray(extras)) throw new WireError('extras that are no list');
  const [limit, holdLimit, label, callSite, high, low, maxPending] = extras;
  numbers([holdLimit], 1);
  if (![limit, high, low, maxPending].every(Number.isSafeInteger)) {
    throw new WireError('a bad limit or token');
  }
  if (typeof label !== 'string' || typeof callSite !== 'string') throw new WireError('a bad label');
}

/** @param {any} state */
function checkState(state) {
  const { session, clientId, lifeline, thread, pidNamespace } = state ?? {};
  const { pid, threadId, upTo } = state ?? {};
  numbers([pid, threadId, upTo], 3);
  for (const text of [session, clientId, lifeline, thread, pidNamespace]) {
    if (typeof text !== 'string' || text.length > MAX_TEXT) throw new WireError('a bad hello');
  }
}

/** @param {any} report  see Report */
function checkReport([view, fields, high, low, at]) {
  numbers([view, high, low, at], 4);
  checkFields(fields);
  if (view < VIEW.WAITING || view > VIEW.RELEASING) throw new WireError('an unknown view');
}

const MAX_TEXT = 4096;

module.exports = { answerCall, ClientConnection };
