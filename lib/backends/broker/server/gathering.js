'use strict';

const { VIEW } = require('../wire.js');
const { clearTimeout, setTimeout } = require('../../../time.js');
const { invalidStateError } = require('../../../errors.js');
const { listLifelines } = require('../lifeline-files.js');

/** @typedef {import('./broker-table.js').BrokerTable} BrokerTable */
/** @typedef {import('./client-connection.js').ClientConnection} ClientConnection */
/** @typedef {import('./session.js').Session} Session */

/**
 * @typedef {object} Told  what a client says of one request
 * @property {number} view
 * @property {import('./broker-table.js').Asked} asked
 * @property {number} high
 * @property {number} low
 * @property {boolean} isNew  it is asked for where the table does not know it
 */

/**
 * Merges a client's state of one request with the table's.
 * @param {BrokerTable} table
 * @param {Session} session
 * @param {ClientConnection} connection
 * @param {Told} told
 */
function mergeOne(table, session, connection, { view, asked, high, low, isNew }) {
  const [id] = asked;
  const entry = session.entries.get(id);
  if (view === VIEW.RELEASING) {
    connection.send(['d', id, table.release(session, id) ?? null]);
  } else if (entry === undefined && view === VIEW.HELD) {
    connection.send(['l', id, 'disconnected', high, low]);
  } else if (entry === undefined) {
    if (isNew) table.request(session, asked);
  } else if (entry.list === null) {
    const { tokenHigh, tokenLow } = entry.request;
    connection.send(['l', id, entry.lossReason, tokenHigh, tokenLow]);
  } else if (view === VIEW.WAITING && entry.isHeld) {
    connection.send(['g', id, entry.request.tokenHigh, entry.request.tokenLow]);
  } else if (view === VIEW.WAITING) {
    connection.send(['w', id]);
  }
}

/** @typedef {import('../broker-files.js').BrokerFiles} BrokerFiles */
/** @typedef {import('./last-journal.js').Damage} Damage */
/** @typedef {import('./broker-table.js').Asked} Asked */
/** @typedef {import('./session-lifelines.js').SessionLifelines} SessionLifelines */

/**
 * A lock that a client says it holds.
 * @typedef {{ session: Session, asked: Asked, high: number, low: number }} Hold
 */

/** @typedef {{ pid: number, pidNamespace: string }} Process */

/** Then all clients are notified that the holders cannot be determined. */
const MAX_GATHERING_MS = 5000;

/**
 * Recovery after a journal that cannot be understood, from the locks that the clients report. Every
 * client that may hold a lock has a lifeline. When each of them has reported its locks, or has
 * ended, nothing more is to be known (docs/decisions/0031-a-damaged-journal.md).
 */
class Gathering {
  /** @type {Set<string>} the lifelines of those that have still to speak, or to end */
  #untold;
  /** @type {Map<Session, Hold[]>} */
  #holds = new Map();
  #damage;
  /** @type {Map<string, Process>} by lifeline, as far as it can be read */
  #processes;
  #timer;

  /**
   * @param {BrokerFiles} place
   * @param {Damage} damage
   * @param {(error: DOMException) => void} onLate  not all have spoken in time
   * @param {number} [maxMs]
   */
  constructor(place, damage, onLate, maxMs = MAX_GATHERING_MS) {
    this.#damage = damage;
    this.#processes = new Map(damage.records.flatMap(clientOf));
    this.#untold = new Set(listLifelines(place));
    this.#timer = setTimeout(() => onLate(this.#error()), maxMs);
  }

  /** @param {SessionLifelines} lifelines */
  watch(lifelines) {
    for (const lifeline of this.#untold) {
      const { pid } = this.#processes.get(lifeline) ?? {};
      lifelines.watch({ lifeline, pid, isAsked: true });
    }
  }

  /**
   * A client's own thread has reconnected. It has read all messages of the dead broker, so its
   * locks are complete.
   * @param {Session} session
   * @param {[view: number, asked: Asked, high: number, low: number, at: number][]} requests
   */
  hear(session, requests) {
    const held = requests.filter(([view]) => view === VIEW.HELD);
    this.#holds.set(
      session,
      held.map(([, asked, high, low]) => ({ session, asked, high, low })),
    );
    this.#untold.delete(session.lifeline);
  }

  /** @param {string} lifeline  of a client that has ended */
  forget(lifeline) {
    this.#untold.delete(lifeline);
  }

  get isComplete() {
    return this.#untold.size === 0;
  }

  /** @returns {Hold[]} in the order of the grants */
  end() {
    clearTimeout(this.#timer);
    return [...this.#holds.values()].flat().sort((a, b) => a.high - b.high || a.low - b.low);
  }

  #error() {
    const { file, where } = this.#damage;
    const untold = this.#describeUntold();
    return invalidStateError(
      `The journal of the broker is damaged (${where}), and not all clients tell what they hold. ` +
        `Continue or end the processes that are stopped or busy (${untold}), or end all ` +
        `programs that use the bucket, then remove the journal: ${file}`,
    );
  }

  /** All clients read the same: where they are of several PID namespaces, it says of which. */
  #describeUntold() {
    const clients = [...this.#processes.values(), ...this.#holds.keys()];
    const isOfOne = new Set(clients.map(({ pidNamespace }) => pidNamespace)).size === 1;
    const untold = [...this.#untold].map((lifeline) => this.#processes.get(lifeline));
    return untold
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

module.exports = { mergeOne, Gathering };
