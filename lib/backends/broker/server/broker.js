'use strict';

const net = require('node:net');
const { newBrokerSocket, removeBrokerSockets } = require('../broker-files.js');
const { listLifelines, removeLifeline, removeOldDrafts } = require('../lifeline.js');
const { lazy } = require('../../../lazy.js');
const { runSliced } = require('../../../sliced.js');
const { clearTimeout, setImmediate, setTimeout } = require('../../../time.js');
const { machineNow } = require('../machine-clock.js');
const { toLine } = require('../wire.js');
const { BrokerTable, hasOtherPriority } = require('./broker-table.js');
const { ClientConnection } = require('./client-connection.js');
const { ClientRecovery, SessionLifelines } = require('./recovery.js');
const { Journal, readLastJournal } = require('./journal.js');

/** @typedef {import('../broker-files.js').BrokerFiles} BrokerFiles */
/** @typedef {import('./recovery.js').ReportStep} ReportStep */

/**
 * Calls back when the event loop has read all that other processes had written before `since`.
 * @typedef {(callback: (since: number) => void) => void} ReadingBarrier
 */

/**
 * Node and Bun read all connections between two immediates.
 * @returns {ReadingBarrier}
 */
function openImmediateBarrier() {
  let readingSince = machineNow();
  return (callback) => {
    setImmediate(() => {
      callback(readingSince);
      readingSince = machineNow();
    });
  };
}

/**
 * Deno runs immediates before it has read its connections. It asks the kernel for the end of a new
 * connection, and receives everything that became readable before together with it. An old
 * connection is not enough: Deno may take it for readable since its last poll.
 * @param {BrokerFiles} files
 * @returns {ReadingBarrier}
 */
function openConnectionBarrier(files) {
  // Not before the first use: a broker that begins removes the sockets that it finds.
  const open = lazy(() => listen(files, newBrokerSocket(files)));
  return async (callback) => {
    const name = await open();
    const since = machineNow();
    // The folder was removed before the first use: the broker finds out, and serves nothing.
    if (name === undefined) return void setImmediate(() => callback(since));
    const socket = net.connect(name);
    socket.on('error', () => socket.destroy()); // 'close' follows
    socket.on('close', () => callback(since));
    socket.resume();
  };
}

/**
 * Ends every connection at once.
 * @param {BrokerFiles} files
 * @param {string} name
 * @returns {Promise<string | undefined>} the name, when it listens; undefined: its folder is gone
 */
function listen(files, name) {
  return new Promise((resolve, reject) => {
    const server = net.createServer((socket) => socket.destroy());
    const onError = (/** @type {any} */ error) => {
      if (error.code === 'ENOENT') resolve(undefined);
      else reject(error); // it cannot tell what is old: another broker may
    };
    server.on('error', onError);
    server.listen({ path: name, exclusive: true }, () => {
      try {
        files.setSocketMode(name);
        resolve(name);
      } catch (error) {
        onError(error);
      }
    });
    server.unref(); // a broker has another reason to stay
  });
}

/**
 * @param {BrokerFiles} files
 * @returns {ReadingBarrier}
 */
const openReadingBarrier = (files) =>
  process.versions.deno === undefined ? openImmediateBarrier() : openConnectionBarrier(files);

/**
 * One step that a client wants, with the time at which it was wanted.
 * @typedef {{ t: number, apply: () => void }} Step
 */

/** The most steps of one turn of the loop, as when a client reconnects with many requests. */
const MAX_STEPS = 256;

/**
 * Puts the steps of all connections in the order of real time. A message that was written before
 * another client began to write is in the kernel by then. But the event loop reads connections in
 * any order. So a step waits until the loop has read all connections once more: every message from
 * before that reading has arrived with it.
 */
class StepQueue {
  /** @type {Step[]} */
  #steps = [];
  /** @type {ReportStep[]} */
  #answers = [];
  #isInOrder = true;
  #isScheduled = false;
  #isPaused = false;
  #isReading = false;
  #run;
  #mayRunAtOnce;
  #afterReading;

  /**
   * @param {ReadingBarrier} afterReading
   * @param {(steps: Step[], answers: ReportStep[]) => void} run  called with steps in their order
   * @param {() => boolean} mayRunAtOnce  there is one connection, and so nothing to be put in order
   */
  constructor(afterReading, run, mayRunAtOnce) {
    this.#afterReading = afterReading;
    this.#run = run;
    this.#mayRunAtOnce = mayRunAtOnce;
  }

  /** @param {Step} step */
  add(step) {
    if (step.t < (this.#steps.at(-1)?.t ?? -Infinity)) this.#isInOrder = false;
    this.#steps.push(step);
    if (!this.#isReading) this.#schedule();
  }

  /**
   * Adds an answer that changes nothing, and so needs no order. As many answers as steps are given
   * in a turn, and steps do not wait for answers.
   * @param {ReportStep} step
   */
  addAnswer(step) {
    this.#answers.push(step);
  }

  /** The steps of one reading of one connection follow. */
  beginReading() {
    this.#isReading = true;
  }

  endReading() {
    this.#isReading = false;
    if (!this.#isPaused && this.#mayRunAtOnce()) this.#runUntil(Infinity);
    this.#schedule();
  }

  /** Keeps all steps until resume(). */
  pause() {
    this.#isPaused = true;
  }

  resume() {
    this.#isPaused = false;
    this.#schedule();
  }

  #schedule() {
    if (this.#isScheduled || this.#isPaused) return;
    if (this.#steps.length === 0 && this.#answers.length === 0) return;
    this.#isScheduled = true;
    this.#afterReading((since) => {
      this.#isScheduled = false;
      if (!this.#isPaused) this.#runUntil(since);
      this.#schedule();
    });
  }

  /** @param {number} end */
  #runUntil(end) {
    if (!this.#isInOrder) this.#steps.sort((a, b) => a.t - b.t);
    this.#isInOrder = true;
    const due = this.#steps.slice(0, MAX_STEPS).filter(({ t }) => t <= end);
    this.#steps.splice(0, due.length);
    const answers = this.#answers.splice(0, MAX_STEPS);
    if (due.length + answers.length === 0) return;
    // The others stay the first ones: what comes meanwhile takes its place by time.
    this.#run(due, answers);
  }
}

/**
 * Removes the files that killed brokers, candidates and clients have left in a bucket, except for
 * lifelines. A connection to a client's own lifeline shows whether the client lives.
 * @param {import('../broker-files.js').BrokerFiles} files
 * @param {import('../broker-files.js').Epoch} epoch  of this broker
 */
function removeStaleFiles(files, { number, socket }) {
  files.cleanUp(number);
  removeBrokerSockets(files, socket);
  removeOldDrafts(files);
}

/** @typedef {[name: string, message: string]} Rejection  an error, as it crosses */

/**
 * Why a broker cannot serve, for its clients.
 * @param {unknown} cause
 * @param {string} folder  of the bucket
 * @returns {Rejection}
 */
function toRejection(cause, folder) {
  const { name, message, code } = /** @type {any} */ (cause);
  if (cause instanceof DOMException) return [name, message];
  const isFull = code === 'ENOSPC' || code === 'EDQUOT';
  return [
    isFull ? 'QuotaExceededError' : 'InvalidStateError',
    `The broker cannot take over, see to the files in ${folder}: ${message}`,
  ];
}

/** @typedef {import('./broker-table.js').Session} Session */

/** How long clients of an earlier broker may take to come back before others are served. */
const RETURN_MS = 300;
/** How long it waits for clients to leave: Bun may drop what comes together with an end. */
const LEAVE_MS = 2000;
/** How long a broker that cannot serve rejects each client: others are not started faster. */
const REJECT_MS = 1000;

/** The share of the sockets that leads to lifelines: the others are for clients that connect. */
const LIFELINE_SHARE = 0.25;
/** A client may have two connections. */
const MIN_CONNECTIONS = 2;

const FULL = "the broker has no descriptor for a further client ('ulimit -n' of its starter)";

/** @param {import('node:net').Socket} socket */
function rejectAsFull(socket) {
  socket.on('error', () => socket.destroy());
  socket.end(toLine(['full', FULL]), () => socket.destroy());
}

const REMOVED = 'The directory of the broker was removed or replaced';

/**
 * Serves one bucket. It applies each step, writes it to the journal, and only then notifies its
 * clients.
 */
class Broker {
  /** @type {BrokerTable} */
  table;
  #files;
  #epoch;
  #log;
  #onEnd;
  #idleMs;
  #maxConnections;
  /** @type {NodeJS.Timeout | undefined} */
  #idleTimer = undefined;
  /** @type {Journal} */
  #journal;
  #stepQueue;
  #lifelines;
  /** @type {Set<ClientConnection>} */
  #connections = new Set();
  /** @type {Set<ClientConnection>} that have something to send */
  #unsent = new Set();
  #isCommitDue = false;
  #isRestored = false;
  /** Its journal counts. */
  #hasBegun = false;
  #isServing = false;
  /** Its epoch or its socket is not at the path that its clients use any more. */
  #isOver = false;
  /** @type {NodeJS.Timeout | undefined} */
  #returnTimer = undefined;
  /** @type {ClientRecovery | undefined} while only the clients know which locks they hold */
  #recovery = undefined;
  /** @type {Rejection | undefined} why it serves no client */
  #rejection = undefined;

  /**
   * @param {BrokerFiles} files
   * @param {import('../broker-files.js').Epoch} epoch
   * @param {object} options
   * @param {number} options.idleMs  how long it stays without connections
   * @param {ReadingBarrier} options.afterReading
   * @param {number} [options.maxSockets]  for all clients
   * @param {() => void} options.onEnd  it has no more to do
   * @param {(text: string) => void} options.log
   */
  constructor(files, epoch, { idleMs, afterReading, maxSockets = Infinity, onEnd, log }) {
    this.#files = files;
    this.#epoch = epoch;
    this.#idleMs = idleMs;
    this.#onEnd = onEnd;
    this.#log = log;
    /** @type {any} */
    let journal;
    this.table = new BrokerTable((table) => {
      journal = new Journal(files, epoch.number, table);
      return this.#noticing(journal);
    }, epoch.number);
    this.#journal = journal;
    this.#stepQueue = new StepQueue(
      afterReading,
      (steps, answers) => this.#apply(steps, answers),
      () => this.#connections.size === 1,
    );
    const maxLifelines = Math.max(1, Math.floor(LIFELINE_SHARE * maxSockets));
    this.#maxConnections = Math.max(MIN_CONNECTIONS, maxSockets - maxLifelines);
    const onDeath = (/** @type {string} */ lifeline) => this.#onDeath(lifeline);
    this.#lifelines = new SessionLifelines(files, onDeath, maxLifelines);
    this.#stepQueue.pause();
  }

  get key() {
    return this.#epoch.key;
  }

  /** @param {string} text */
  log(text) {
    this.#log(text);
  }

  /**
   * A record that the table adds outside a round, as when a hold limit passes, is written soon.
   * @param {Journal} journal
   */
  #noticing(journal) {
    return {
      add: (/** @type {unknown[]} */ record) => {
        journal.add(record);
        this.#commitSoon();
      },
      hasRoomFor: (/** @type {number} */ bytes) => journal.hasRoomFor(bytes),
    };
  }

  /**
   * Takes over from the broker before, in pages: clients are greeted, and send what they have,
   * meanwhile. Then those who were its clients have some time.
   */
  async recover() {
    /** @type {import('./journal.js').Corruption | undefined} */
    let corruption;
    try {
      corruption = await this.#restore();
    } catch (error) {
      this.rejectClients(error);
    }
    this.#isRestored = true;
    await runSliced(this.#receiveHandshakes());
    if (corruption === undefined) await this.#begin();
    this.#serveIfAllAreBack();
    this.#checkIdle();
  }

  async #restore() {
    const reading = readLastJournal(this.#files, this.#epoch.number);
    const { records, corruption } = await runSliced(reading);
    if (corruption === undefined) await runSliced(this.table.restore(records));
    else this.#recoverFromClients(corruption);
    return corruption;
  }

  /** Whether the table has the locks of the broker before. */
  get isRestored() {
    return this.#isRestored;
  }

  *#receiveHandshakes() {
    for (const connection of this.#connections) {
      connection.receiveHandshake();
      yield;
    }
  }

  /** From here on this broker's journal counts. */
  async #begin() {
    if (this.#rejection !== undefined) return;
    try {
      await runSliced(this.#journal.begin());
      removeStaleFiles(this.#files, this.#epoch);
    } catch (error) {
      this.rejectClients(error);
      return;
    }
    const connected = new Set();
    for (const session of this.table.sessions.values()) {
      if (session.isAway) this.#lifelines.watch(session);
      else connected.add(session.lifeline);
    }
    for (const lifeline of listLifelines(this.#files)) {
      if (!connected.has(lifeline)) this.#lifelines.watch({ lifeline }); // it may be left over
    }
    this.#hasBegun = true;
    this.#returnTimer = setTimeout(() => this.#serve(), RETURN_MS);
    this.#commitSoon();
  }

  /** @param {import('./journal.js').Corruption} corruption */
  #recoverFromClients(corruption) {
    this.log(`the journal is corrupted (${corruption.where}): ${corruption.file}`);
    this.table.passTokens(corruption.records, corruption.bytes);
    this.#recovery = new ClientRecovery(this.#files, corruption, (error) =>
      this.rejectClients(error),
    );
    this.#recovery.watch(this.#lifelines);
  }

  /**
   * Rejects every client for a moment, because no lock is available, and ends.
   * @param {unknown} cause
   */
  rejectClients(cause) {
    clearTimeout(this.#returnTimer);
    this.#rejection = toRejection(cause, this.#files.folder);
    this.log(this.#rejection.join(': '));
    for (const connection of this.#connections) {
      if (connection.session !== undefined) connection.sendNow(['over', ...this.#rejection]);
    }
    setTimeout(() => this.#onEnd(), REJECT_MS);
  }

  #serveIfAllAreBack() {
    if (this.#isServing || this.#rejection !== undefined) return;
    if (this.#recovery?.isComplete) {
      const holds = this.#recovery.end();
      this.#recovery = undefined;
      void this.#adopt(holds);
    }
    if (!this.#hasBegun) return;
    for (const session of this.table.sessions.values()) if (session.isAway) return;
    void this.#serve();
  }

  /** @param {import('./recovery.js').Hold[]} holds */
  async #adopt(holds) {
    await runSliced(this.table.adopt(holds));
    await this.#begin();
    this.#serveIfAllAreBack();
  }

  async #serve() {
    if (this.#isServing || !this.#isPublished()) return;
    this.#isServing = true;
    clearTimeout(this.#returnTimer);
    await runSliced(this.table.processAll());
    this.#stepQueue.resume();
  }

  /** @param {import('node:net').Socket} socket */
  accept(socket) {
    if (!this.checkPublished()) {
      socket.destroy();
      return;
    }
    if (this.#connections.size >= this.#maxConnections) {
      rejectAsFull(socket);
      return;
    }
    this.#connections.add(new ClientConnection(this, socket));
    this.#checkIdle();
  }

  /**
   * If the epoch or the socket is not at the path that clients use, it was removed or replaced.
   * Then the locks held here exclude no other client any more.
   * @returns {boolean} whether its epoch and its socket are still published
   */
  checkPublished() {
    if (this.#isOver) return false;
    if (this.#files.hasEpoch(this.#epoch) && this.#files.isReachable(this.#epoch)) return true;
    this.#isOver = true;
    this.#stepQueue.pause();
    for (const connection of this.#connections) {
      const knownUpTo = connection.session?.enteredUpTo ?? 0;
      connection.sendNow(['over', 'InvalidStateError', REMOVED, knownUpTo]);
    }
    clearTimeout(this.#idleTimer);
    this.#idleTimer = setTimeout(() => this.#onEnd(), LEAVE_MS);
    this.#checkIdle();
    return false;
  }

  /**
   * A client has connected, or reconnected, and reports all that it has. The report supplies all
   * that the previous broker received and did not note. A helper thread reports again and again,
   * because the socket of its client may have kept something back. The client may have overtaken
   * that report.
   * @param {ClientConnection} connection
   * @param {any} state
   * @param {Map<number, ReportStep>} reports  by the numbers of the requests
   */
  handshake(connection, state, reports) {
    const known = connection.session;
    if (known !== undefined && (known.isOver || known.id !== state.session)) {
      connection.destroy(); // of one client, as long as that lives
      return;
    }
    const session = this.#openSession(connection, state);
    if (session === undefined) return;
    if (known === undefined) {
      session.connections += 1;
      connection.session = session;
    }
    if (this.#rejection !== undefined) {
      connection.sendNow(['over', ...this.#rejection]);
      return;
    }
    const { isHelper } = connection;
    this.#onConnected(session, isHelper ? undefined : reports);
    if (!isHelper && session.outlet !== connection) {
      const { outlet } = session;
      session.outlet = connection;
      if (outlet !== undefined) /** @type {ClientConnection} */ (outlet).destroy();
    }
    this.#merge(session, state.upTo, isHelper, reports);
    if (known === undefined) {
      this.addStep({ t: machineNow(), apply: () => connection.send(['ready']) });
    }
    this.#serveIfAllAreBack();
    this.#commitSoon();
  }

  /**
   * @param {ClientConnection} connection
   * @param {any} state
   * @returns {Session | undefined} undefined: it was rejected, with the reason
   */
  #openSession(connection, state) {
    try {
      return this.table.openSession(state.session, state);
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
      connection.send(['over', error.name, error.message]);
      return undefined;
    }
  }

  /**
   * @param {Session} session
   * @param {Map<number, ReportStep> | undefined} reports  undefined: the client's own thread has
   *   not sent them
   */
  #onConnected(session, reports) {
    if (this.#recovery !== undefined) {
      if (reports === undefined) return; // what a helper thread knows may be old
      this.#recovery.addReport(session, reports.values());
    }
    this.#lifelines.onConnected(session);
  }

  /**
   * @param {Session} session
   * @param {number} upTo
   * @param {boolean} isHelper
   * @param {Map<number, ReportStep>} reports
   */
  #merge(session, upTo, isHelper, reports) {
    session.maxId = Math.max(session.maxId, upTo);
    if (!isHelper) session.decidedUpTo = Math.max(session.decidedUpTo, upTo);
    let known = 0;
    for (const step of reports.values()) {
      const isKnown = session.entries.has(step.id);
      if (isKnown) known += 1;
      if (!isKnown || step.isEnd) this.addStep(step);
      else if (!isHelper) {
        this.#stepQueue.addAnswer(step);
        this.#adoptPriority(session, step);
      }
    }
    if (known === session.entries.size) return;
    for (const id of session.entries.keys()) {
      if (id > upTo || reports.has(id)) continue;
      this.addStep({ t: 0, apply: () => this.table.cancel(session, id, false) });
    }
  }

  /**
   * The broker before may have died before it had noted a change of priority.
   * @param {Session} session
   * @param {ReportStep} step
   */
  #adoptPriority(session, { id, report }) {
    const [, , flags] = report.fields;
    const entry = session.entries.get(id);
    if (entry === undefined || !hasOtherPriority(entry, flags)) return;
    const apply = () => this.table.changePriority(session, id, flags);
    this.addStep({ t: machineNow(), apply });
  }

  /** @param {Step} step */
  addStep(step) {
    this.#stepQueue.add(step);
  }

  /** A connection is about to be read: its steps are put in order together. */
  beginReading() {
    this.#stepQueue.beginReading();
  }

  endReading() {
    this.#stepQueue.endReading();
  }

  /**
   * A watch may report late that the folder was removed: Deno's, and any under load. So each round
   * checks the name of the socket, and so does a timer. A removed broker serves nothing: its
   * clients use another.
   */
  #isPublished() {
    return !this.#isOver && (this.#files.isReachable(this.#epoch) || this.checkPublished());
  }

  /**
   * @param {Step[]} steps
   * @param {ReportStep[]} answers
   */
  #apply(steps, answers) {
    if (!this.#isPublished()) return;
    this.#isCommitDue = true;
    for (const step of steps) step.apply();
    for (const step of answers) step.answer();
    this.#commit();
  }

  #commitSoon() {
    if (this.#isCommitDue) return;
    this.#isCommitDue = true;
    setImmediate(() => {
      if (this.#isPublished()) this.#commit();
    });
  }

  /** Writes the decisions to the journal, and then sends them. */
  #commit() {
    this.#isCommitDue = false;
    if (!this.#journal.commit()) return; // #begin() does
    for (const connection of this.#unsent) connection.flush();
    this.#unsent.clear();
  }

  /** @param {ClientConnection} connection */
  toFlush(connection) {
    this.#unsent.add(connection);
    this.#commitSoon();
  }

  /**
   * The end of a session is right after its last step: another client may have made a later request
   * because this client was seen dead.
   * @param {ClientConnection} connection
   */
  onClose(connection) {
    this.#connections.delete(connection);
    this.#unsent.delete(connection);
    const { session } = connection;
    if (session !== undefined) {
      session.connections -= 1;
      if (session.outlet === connection) session.outlet = undefined;
      const end = () => session.isAway && this.#endLost(session);
      if (session.isAway) this.addStep({ t: session.lastT, apply: end });
    }
    this.#checkIdle();
  }

  /**
   * The connection of a session has ended, and usually so has the client. The lifeline is removed
   * when the end of the client is sure.
   * @param {Session} session
   */
  #endLost(session) {
    if (!session.isOver) this.#lifelines.watch(session);
    this.#end(session);
  }

  /** @param {string} lifeline  of a client that has ended */
  #onDeath(lifeline) {
    removeLifeline(this.#files, lifeline);
    this.#recovery?.forget(lifeline);
    for (const session of this.table.sessions.values()) {
      if (session.lifeline === lifeline && session.isAway) this.#end(session);
    }
    this.#serveIfAllAreBack();
  }

  /** @param {Session} session  whose client has ended */
  #end(session) {
    this.table.endSession(session, true);
    this.#serveIfAllAreBack();
    this.#commitSoon();
    this.#checkIdle();
  }

  /** Without clients the broker ends; the next client starts another one. */
  #checkIdle() {
    if (this.#isOver && this.#connections.size > 0) return; // they have LEAVE_MS
    clearTimeout(this.#idleTimer);
    this.#idleTimer = undefined;
    if (this.#connections.size > 0) return;
    if (this.#isOver) return this.#onEnd();
    this.#idleTimer = setTimeout(() => {
      if (this.table.sessions.size === 0) this.#onEnd();
      else this.#checkIdle(); // stopped clients of an earlier broker
    }, this.#idleMs);
  }
}

module.exports = { openConnectionBarrier, openReadingBarrier, StepQueue, Broker };
