'use strict';

const { wouldSelfDeadlock } = require('../../local/self-deadlock.js');
const { toParts } = require('../parts.js');
const { toPlain } = require('../wire-values.js');

/** @typedef {import('./broker-table.js').BrokerTable} BrokerTable */
/** @typedef {import('./client-connection.js').ClientConnection} ClientConnection */
/** @typedef {import('./session.js').Session} Session */
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

  async waitsOf(table, session, [ids, withQueues], reply) {
    const known = Array.isArray(ids) ? ids : []; // whoever asks so has asked for nothing
    reply(toPlainLists(await table.waitsOf(session, known, { withQueues })));
  },

  /** Without the name, which may be longer than an answer to a blocked thread. */
  holdersOf(table, session, [name, max], reply) {
    const holders = table.holdersOf(name, Math.min(max, MAX_HOLDERS), session);
    reply(holders.map((holder) => toPlain({ ...holder, name: '' })));
  },

  isLocked: (table, _session, [name, least], reply) => reply(table.isLocked(name, least)),

  watch(table, session, [id, name], reply) {
    const ofIt = watchesOf(session);
    if (!ofIt.has(id)) ofIt.set(id, table.watches.open(session, name ?? undefined));
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
 * @param {{ call: number, what: string, argument: any[] }} question
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

/** @param {{ held: any[], pending: any[] }} lists */
const toPlainLists = ({ held, pending, ...rest }) => ({
  ...rest,
  held: held.map(toPlain),
  pending: pending.map(toPlain),
});

/** @param {any} item  a detail, an event, or a word of an answer */
const unitsOf = (item) => (item?.name?.length ?? 0) + (item?.label?.length ?? 0);

/**
 * A long list goes before the answer, in parts: others are served between two of them.
 * @param {ClientConnection} connection
 * @param {number} call
 * @param {any} value
 */
async function sendAnswer(connection, call, value) {
  /** @type {[key: string, items: unknown[]][]} */
  const parts = [];
  const shorten = (/** @type {string} */ key, /** @type {unknown[]} */ list) => {
    const ofList = toParts(list, unitsOf);
    const last = ofList.pop();
    for (const part of ofList) parts.push([key, part]);
    return last;
  };
  let rest = value;
  if (Array.isArray(value)) rest = shorten('', value);
  else if (Array.isArray(value?.held)) {
    const held = shorten('held', value.held);
    rest = { ...value, held, pending: shorten('pending', value.pending) };
  }
  for (const [key, items] of parts) {
    connection.send(['p', call, key, items]);
    await connection.afterSending();
  }
  connection.send(['a', call, rest]);
}

/** @param {unknown} what */
const isCall = (what) => typeof what === 'string' && Object.hasOwn(ANSWERS, what);

module.exports = { answerCall, isCall };
