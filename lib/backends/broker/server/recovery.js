'use strict';

const net = require('node:net');
const { clearTimeout, setTimeout } = require('../../../time.js');
const { VIEW } = require('../wire.js');
const { invalidStateError } = require('../../../errors.js');
const { listLifelines } = require('../lifeline.js');

/** @typedef {import('../broker-files.js').BrokerFiles} BrokerFiles */
/** @typedef {import('./broker-table.js').Session} Session */

/**
 * A client by its lifeline.
 * @typedef {object} Client
 * @property {string} lifeline
 * @property {number} [pid]  else the one in the name of its lifeline
 * @property {string} [start]  of its process, where that is needed and known
 * @property {boolean} [mustReport]  to come back, also if it holds nothing
 */

/**
 * After a connect() that neither proves life nor death, as when descriptors are short; twice as
 * long each time.
 */
const RETRY_MS = 200;
const MAX_RETRY_MS = 1000;
/**
 * A client that has ended a connection has no full backlog: a refusal is the proof wherever it
 * runs.
 */
const NO_PROCESS = { pid: 0 };
const RECONNECT = 'come back\n';

/**
 * Checks whether clients live that are not connected, as after the death of an earlier broker. Each
 * client listens on a separate socket. The kernel accepts for the client, also while it is stopped,
 * and closes the connection when it ends. A client without a descriptor left closes the connection,
 * too (libuv does). So the end of a connection only leads to another attempt: only a refusal is
 * the death.
 */
class SessionLifelines {
  /** @type {Map<string, net.Socket>} by lifeline */
  #sockets = new Map();
  /** @type {Map<string, Client>} by lifeline, until one of the sockets is not needed any more */
  #waiting = new Map();
  #files;
  #onDeath;
  #max;

  /**
   * @param {BrokerFiles} files
   * @param {(lifeline: string) => void} onDeath
   * @param {number} [max]  how many sockets it may have at the same time
   */
  constructor(files, onDeath, max = Infinity) {
    this.#files = files;
    this.#onDeath = onDeath;
    this.#max = max;
  }

  /** @param {Client} client */
  watch(client) {
    if (this.#sockets.has(client.lifeline)) return;
    if (this.#sockets.size < this.#max) this.#connect(client, false, RETRY_MS);
    else this.#waiting.set(client.lifeline, client);
  }

  /**
   * A client is connected, and so is known to live.
   * @param {Session} session
   */
  async onConnected(session) {
    this.#unwatch(session.lifeline);
    const { startOf } = this.#files.platform;
    if (startOf === undefined || session.start !== undefined) return;
    const start = await startOf(session.pid);
    // A client that is still connected was the owner of the process id when its start was read.
    if (start !== undefined && !session.isAway && !session.isOver) session.noteStart(start);
  }

  /**
   * @param {Client} client
   * @param {boolean} isAgain  an earlier connection was open, and has ended
   * @param {number} retryMs
   */
  #connect(client, isAgain, retryMs) {
    const { lifeline } = client;
    let isOpen = false;
    /** @type {string | undefined} */
    let code;
    const socket = net.connect(this.#files.lifelinePath(lifeline));
    this.#sockets.set(lifeline, socket);
    socket.on('connect', () => {
      isOpen = true;
      if (client.mustReport) socket.write(RECONNECT);
    });
    socket.on('error', (error) => ({ code } = /** @type {any} */ (error)));
    socket.on('close', async () => {
      const isDead = !isOpen && (await this.#isDead(client, code, isAgain));
      if (this.#sockets.get(lifeline) !== socket) return;
      if (isDead) this.#die(lifeline);
      else if (isOpen && !isAgain) this.#connect(client, true, RETRY_MS);
      else
        setTimeout(() => this.#connectAgain(client, socket, isOpen || isAgain, retryMs), retryMs);
    });
    socket.resume();
  }

  /**
   * @param {Client} client
   * @param {string | undefined} code  of the connect() that has failed
   * @param {boolean} isAgain
   */
  #isDead({ lifeline, pid = this.#files.pidInName(lifeline), start }, code, isAgain) {
    const socket = this.#files.lifelinePath(lifeline);
    return this.#files.isProofOfDeath(code, { socket, ...(isAgain ? NO_PROCESS : { pid, start }) });
  }

  /** @param {string} lifeline */
  #unwatch(lifeline) {
    const socket = this.#sockets.get(lifeline);
    this.#waiting.delete(lifeline);
    this.#sockets.delete(lifeline);
    socket?.destroy();
    const [next] = this.#waiting.values();
    if (next === undefined || this.#sockets.size >= this.#max) return;
    this.#waiting.delete(next.lifeline);
    this.watch(next);
  }

  /**
   * @param {Client} client
   * @param {net.Socket} last
   * @param {boolean} isAgain
   * @param {number} retryMs
   */
  #connectAgain(client, last, isAgain, retryMs) {
    if (this.#sockets.get(client.lifeline) !== last) return;
    this.#connect(client, isAgain, Math.min(2 * retryMs, MAX_RETRY_MS));
  }

  /** @param {string} lifeline */
  #die(lifeline) {
    this.#unwatch(lifeline);
    this.#onDeath(lifeline);
  }
}

/** @typedef {import('./client-connection.js').ClientConnection} ClientConnection */

/**
 * @typedef {object} Report  what a client says of one request
 * @property {number} view
 * @property {import('./broker-table.js').RequestFields} fields
 * @property {number} high
 * @property {number} low
 */

/**
 * A client's report on one of its requests, as a step that merges it with the table. If the table
 * has the request, and the client does not end it, the step is only an answer.
 */
class ReportStep {
  /**
   * @param {ClientConnection} connection
   * @param {Report} report
   * @param {number} t  since when it is so
   */
  constructor(connection, report, t) {
    this.connection = connection;
    this.report = report;
    this.t = t;
  }

  /** The number of the request. */
  get id() {
    return this.report.fields[0];
  }

  get isEnd() {
    return this.report.view === VIEW.RELEASING;
  }

  apply() {
    const session = this.#session;
    if (session === undefined) return;
    const { table, isHelper } = this.connection;
    const { id, report } = this;
    if (this.isEnd) {
      this.connection.send(['d', id, table.release(session, id) ?? null]);
    } else if (session.entries.has(id)) {
      this.answer();
    } else if (report.view === VIEW.HELD) {
      this.connection.send(['l', id, 'disconnected', report.high, report.low]);
    } else if (!isHelper || id > session.decidedUpTo) {
      table.request(session, report.fields);
    }
  }

  /** Of a request that the table has; else the client was notified of its end meanwhile. */
  answer() {
    const entry = this.#session?.entries.get(this.id);
    if (entry === undefined) return;
    const { tokenHigh, tokenLow } = entry.request;
    if (entry.list === null) {
      this.connection.send(['l', this.id, entry.lossReason, tokenHigh, tokenLow]);
    } else if (this.report.view === VIEW.WAITING) {
      this.connection.send(entry.isHeld ? ['g', this.id, tokenHigh, tokenLow] : ['w', this.id]);
    }
  }

  /**
   * The session of the client. Undefined: it has ended, or the client has reconnected since and
   * sent its state again.
   * @returns {Session | undefined}
   */
  get #session() {
    const { session, isHelper } = this.connection;
    if (session === undefined || session.isOver) return undefined;
    return isHelper || session.outlet === this.connection ? session : undefined;
  }
}

/** @typedef {import('./journal.js').Corruption} Corruption */
/** @typedef {import('./broker-table.js').RequestFields} RequestFields */

/**
 * A lock that a client says it holds.
 * @typedef {{ session: Session, fields: RequestFields, high: number, low: number }} Hold
 */

/** @typedef {{ pid: number, pidNamespace: string }} Process */

/** Then all clients are notified that the holders cannot be determined. */
const MAX_RECOVERY_MS = 5000;

/**
 * Recovery after a journal that cannot be understood, from the locks that the clients report. Every
 * client that may hold a lock has a lifeline. When each of them has reported its locks, or has
 * ended, nothing more is to be known (docs/decisions/0031-a-corrupted-journal.md).
 */
class ClientRecovery {
  /** @type {Set<string>} the lifelines of those that have still to speak, or to end */
  #missing;
  /** @type {Map<Session, Hold[]>} */
  #holds = new Map();
  #corruption;
  /** @type {Map<string, Process>} by lifeline, as far as it can be read */
  #processes;
  #timer;

  /**
   * @param {BrokerFiles} files
   * @param {Corruption} corruption
   * @param {(error: DOMException) => void} onLate  not all have spoken in time
   * @param {number} [maxMs]
   */
  constructor(files, corruption, onLate, maxMs = MAX_RECOVERY_MS) {
    this.#corruption = corruption;
    this.#processes = new Map(corruption.records.flatMap(clientOf));
    this.#missing = new Set(listLifelines(files));
    this.#timer = setTimeout(() => onLate(this.#error()), maxMs);
  }

  /** @param {SessionLifelines} lifelines */
  watch(lifelines) {
    for (const lifeline of this.#missing) {
      const { pid } = this.#processes.get(lifeline) ?? {};
      lifelines.watch({ lifeline, pid, mustReport: true });
    }
  }

  /**
   * A client's own thread has reconnected. It has read all messages of the dead broker, so its
   * locks are complete.
   * @param {Session} session
   * @param {Iterable<{ report: Report }>} reports
   */
  addReport(session, reports) {
    /** @type {Hold[]} */
    const holds = [];
    for (const { report } of reports) {
      if (report.view === VIEW.HELD) holds.push({ session, ...report });
    }
    this.#holds.set(session, holds);
    this.#missing.delete(session.lifeline);
  }

  /** @param {string} lifeline  of a client that has ended */
  forget(lifeline) {
    this.#missing.delete(lifeline);
  }

  get isComplete() {
    return this.#missing.size === 0;
  }

  /** @returns {Hold[]} in the order of the grants */
  end() {
    clearTimeout(this.#timer);
    return [...this.#holds.values()].flat().sort((a, b) => a.high - b.high || a.low - b.low);
  }

  #error() {
    const { file, where } = this.#corruption;
    const missing = this.#describeMissing();
    return invalidStateError(
      `The journal of the broker is corrupted (${where}), and not all clients have reported ` +
        `their locks. Continue or end the processes that are stopped or busy (${missing}), or ` +
        `end all programs that use the bucket, then remove the journal: ${file}`,
    );
  }

  /** All clients read the same: where they are of several PID namespaces, it says of which. */
  #describeMissing() {
    const clients = [...this.#processes.values(), ...this.#holds.keys()];
    const isOfOne = new Set(clients.map(({ pidNamespace }) => pidNamespace)).size === 1;
    const missing = [...this.#missing].map((lifeline) => this.#processes.get(lifeline));
    return missing
      .map((one) => {
        if (one === undefined) return 'unknown';
        return isOfOne ? one.pid : `${one.pid} of ${one.pidNamespace}`;
      })
      .join(', ');
  }
}

/**
 * @param {any[]} record
 * @returns {[lifeline: string, process: Process][]}
 */
function clientOf([kind, , details]) {
  if (kind !== 'S') return [];
  const { lifeline, pid, pidNamespace } = details ?? {};
  return [[lifeline, { pid: Number(pid), pidNamespace: String(pidNamespace) }]];
}

module.exports = { SessionLifelines, ReportStep, ClientRecovery };
