'use strict';

const net = require('node:net');
const { clearTimeout, setImmediate, setTimeout } = require('../../../time.js');
const { BrokerTable } = require('./broker-table.js');
const { ClientConnection } = require('./client-connection.js');
const { Journal, readLastJournal } = require('./journal.js');
const { machineNow } = require('../machine-clock.js');
const { mergeOne } = require('./merge.js');
const { removeFile } = require('../remove-file.js');
const { Rounds } = require('./round.js');
const { SessionLifelines } = require('./session-lifelines.js');

/** @typedef {import('../broker-files.js').BrokerFiles} BrokerFiles */
/** @typedef {import('./session.js').Session} Session */

/** How long clients of an earlier broker may take to come back before others are served. */
const RETURN_MS = 300;

/**
 * Serves one bucket. It applies each step, writes it to the journal, and only then tells its
 * clients.
 */
class Broker {
  /** @type {BrokerTable} */
  table;
  #place;
  #claim;
  #log;
  #onEnd;
  #idleMs;
  /** @type {NodeJS.Timeout | undefined} */
  #idleTimer = undefined;
  /** @type {Journal} */
  #journal;
  #rounds;
  #lifelines;
  /** @type {Set<ClientConnection>} */
  #connections = new Set();
  /** @type {Set<ClientConnection>} that have something to send */
  #unsent = new Set();
  #isCommitDue = false;
  #isServing = false;
  /** @type {NodeJS.Timeout | undefined} */
  #returnTimer = undefined;

  /**
   * @param {BrokerFiles} place
   * @param {import('../broker-files.js').Claim} claim
   * @param {object} options
   * @param {number} options.idleMs  how long it stays without connections
   * @param {import('./reading-barrier.js').ReadingBarrier} options.afterReading
   * @param {() => void} options.onEnd  it has no more to do
   * @param {(text: string) => void} options.log
   */
  constructor(place, claim, { idleMs, afterReading, onEnd, log }) {
    this.#place = place;
    this.#claim = claim;
    this.#idleMs = idleMs;
    this.#onEnd = onEnd;
    this.#log = log;
    /** @type {any} */
    let journal;
    this.table = new BrokerTable((table) => {
      journal = new Journal(place, claim.number, () => table.records());
      return this.#noticing(journal);
    }, claim.number);
    this.#journal = journal;
    this.#rounds = new Rounds(
      afterReading,
      (steps) => this.#apply(steps),
      () => this.#connections.size === 1,
    );
    this.#lifelines = new SessionLifelines(place, (session) => this.#end(session, true));
    this.#rounds.pause();
  }

  get key() {
    return this.#claim.key;
  }

  /** @param {string} text */
  log(text) {
    this.#log(text);
  }

  /**
   * What the table notes outside a round, as when a hold limit passes, is written soon.
   * @param {Journal} journal
   */
  #noticing(journal) {
    return {
      add: (/** @type {unknown[]} */ record) => {
        journal.add(record);
        this.#commitSoon();
      },
      get hasRoom() {
        return journal.hasRoom;
      },
    };
  }

  /** Takes over from the broker before; then those who were its clients have some time. */
  recover() {
    const records = readLastJournal(this.#place);
    this.table.restore(records);
    this.#journal.writeWhole();
    this.#journal.removeOlder();
    this.#place.cleanUp(this.#claim);
    for (const session of this.table.sessions.values()) this.#lifelines.watch(session);
    this.#returnTimer = setTimeout(() => this.#serve(), RETURN_MS);
    this.#serveIfAllAreBack();
    this.#checkIdle();
  }

  #serveIfAllAreBack() {
    if (this.#isServing) return;
    for (const session of this.table.sessions.values()) if (session.isAway) return;
    this.#serve();
  }

  #serve() {
    if (this.#isServing) return;
    this.#isServing = true;
    clearTimeout(this.#returnTimer);
    this.table.processAll();
    this.#commit();
    this.#rounds.resume();
  }

  /** @param {import('node:net').Socket} socket */
  accept(socket) {
    if (!this.checkPlace()) {
      socket.destroy();
      return;
    }
    this.#connections.add(new ClientConnection(this, socket));
    this.#checkIdle();
  }

  /**
   * If the claim or the socket is not where clients look for it, it was removed or replaced. Then
   * the locks held here exclude no other client any more.
   * @returns {boolean} whether it is in its place
   */
  checkPlace() {
    if (this.#place.hasClaim(this.#claim) && this.#place.isReachable(this.#claim)) return true;
    for (const connection of this.#connections) {
      connection.send(['over']);
      connection.flush();
      connection.destroy();
    }
    this.#onEnd();
    return false;
  }

  /**
   * A client has come, or come back: it says all that it has, which puts right what the broker
   * before was asked and did not note. A helper thread says it again and again, because the socket
   * of its client may have kept something back; what it says may have been overtaken by its client.
   * @param {ClientConnection} connection
   * @param {any} state
   * @param {boolean} isHelper
   */
  hello(connection, state, isHelper) {
    const known = connection.session;
    if (known !== undefined && (known.isOver || known.id !== state.session)) {
      connection.destroy(); // of one client, as long as that lives
      return;
    }
    const session = this.table.openSession(state.session, state);
    if (known === undefined) {
      session.connections += 1;
      connection.session = session;
    }
    this.#lifelines.unwatch(session);
    if (!isHelper && session.outlet !== connection) {
      const { outlet } = session;
      session.outlet = connection;
      if (outlet !== undefined) /** @type {ClientConnection} */ (outlet).destroy();
    }
    this.#merge(session, connection, { ...state, isHelper });
    this.#serveIfAllAreBack();
    this.#commitSoon();
  }

  /**
   * @param {Session} session
   * @param {ClientConnection} connection
   * @param {any} state
   */
  #merge(session, connection, { requests, upTo, isHelper }) {
    const listed = new Set(requests.map((/** @type {any} */ [, asked]) => asked[0]));
    for (const id of [...session.entries.keys()]) {
      if (id <= upTo && !listed.has(id)) this.table.cancel(session, id, false);
    }
    session.maxId = Math.max(session.maxId, upTo);
    if (!isHelper) session.decidedUpTo = Math.max(session.decidedUpTo, upTo);
    const now = machineNow();
    for (const [view, asked, high, low, at] of requests) {
      const t = Math.min(at, now);
      this.addStep({
        t,
        apply: () => {
          if (session.isOver) return;
          const isNew = !isHelper || asked[0] > session.decidedUpTo;
          mergeOne(this.table, session, connection, { view, asked, high, low, isNew });
        },
      });
    }
  }

  /** @param {import('./round.js').Step} step */
  addStep(step) {
    this.#rounds.add(step);
  }

  /** A connection is about to be read: its steps are put in order together. */
  beginReading() {
    this.#rounds.beginReading();
  }

  endReading() {
    this.#rounds.endReading();
  }

  /** @param {import('./round.js').Step[]} steps */
  #apply(steps) {
    this.#isCommitDue = true;
    for (const { apply } of steps) apply();
    this.#commit();
  }

  #commitSoon() {
    if (this.#isCommitDue) return;
    this.#isCommitDue = true;
    setImmediate(() => this.#commit());
  }

  /** Notes what was decided, and tells it then. */
  #commit() {
    this.#isCommitDue = false;
    this.#journal.commit();
    for (const connection of this.#unsent) connection.flush();
    this.#unsent.clear();
  }

  /** @param {ClientConnection} connection */
  toFlush(connection) {
    this.#unsent.add(connection);
    this.#commitSoon();
  }

  /** @param {Session} session */
  goodbye(session) {
    this.table.endSession(session, false);
  }

  /** @param {ClientConnection} connection */
  onClose(connection) {
    this.#connections.delete(connection);
    this.#unsent.delete(connection);
    const { session } = connection;
    if (session !== undefined) {
      session.connections -= 1;
      if (session.outlet === connection) session.outlet = undefined;
      // After all that it has written.
      const end = () => session.isAway && this.#end(session, true);
      if (session.isAway) this.addStep({ t: machineNow(), apply: end });
    }
    this.#checkIdle();
  }

  /**
   * @param {Session} session
   * @param {boolean} hasDied
   */
  #end(session, hasDied) {
    this.#removeLifeline(session);
    this.table.endSession(session, hasDied);
    this.#serveIfAllAreBack();
    this.#commitSoon();
    this.#checkIdle();
  }

  /** @param {Session} session */
  #removeLifeline({ lifeline }) {
    if (lifeline.startsWith(this.#place.lifelinesFolder)) removeFile(lifeline);
  }

  /** Without clients the broker ends; the next client starts another one. */
  #checkIdle() {
    clearTimeout(this.#idleTimer);
    this.#idleTimer = undefined;
    if (this.#connections.size > 0) return;
    this.#idleTimer = setTimeout(() => {
      if (this.table.sessions.size === 0) this.#onEnd();
      else this.#checkIdle(); // stopped clients of an earlier broker
    }, this.#idleMs);
  }
}

/**
 * @param {Broker} broker
 * @param {string} socket
 * @returns {Promise<net.Server>} that listens
 */
function listen(broker, socket) {
  return new Promise((resolve, reject) => {
    const server = net.createServer((connection) => broker.accept(connection));
    server.once('error', reject);
    server.listen({ path: socket, exclusive: true }, () => resolve(server));
  });
}

module.exports = { Broker, listen };
