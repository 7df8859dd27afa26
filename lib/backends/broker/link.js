'use strict';

const { apply, clearTimeout, setTimeout, then } = require('../../time.js');
const { invalidStateError } = require('../../errors.js');
const { Launcher } = require('./launcher.js');
const { CLOCK_KIND, clockLead, machineNow } = require('./machine-clock.js');
const { isProof, newNonce, proofOf } = require('./proof.js');
const { LineReader, toLine } = require('./lines.js');
const { WIRE_VERSION } = require('./wire.js');

/** @typedef {import('./broker-files.js').BrokerFiles} BrokerFiles */
/** @typedef {import('./launcher.js').Found} Found */
/** @typedef {import('node:net').Socket} Socket */

/**
 * @typedef {object} LinkUser
 * @property {(toBrokerTime: (t: number) => number) => unknown[][]} hello  the first messages
 * @property {(message: any[]) => void} onMessage
 * @property {() => void} onClose  the broker has gone, or has ended the connection
 * @property {(error: Error) => void} onFailure  no broker is to be had
 */

/**
 * Before another try, when a broker has ended a connection during the greetings; twice as long each
 * time. All together, half a minute.
 */
const FIRST_RETRY_MS = 20;
const MAX_RETRY_MS = 1000;
const MAX_REFUSALS = 35;

/** The way to the broker of a place, whichever it is just now. */
class Link {
  #place;
  #user;
  /** @type {Launcher | undefined} while it searches for a broker */
  #launcher = undefined;
  /** @type {Socket | undefined} */
  #socket = undefined;
  #isOpen = false;
  /** How far the broker's clock is ahead. */
  #clockOffset = 0;
  #refusals = 0;
  /** @type {NodeJS.Timeout | undefined} of another try */
  #retryTimer = undefined;

  /**
   * @param {BrokerFiles} place
   * @param {LinkUser} user
   */
  constructor(place, user) {
    this.#place = place;
    this.#user = user;
  }

  /** To a broker, which may not have answered. */
  get isConnected() {
    return this.#socket !== undefined;
  }

  /** How much of what was sent the kernel has not taken yet, and how much it has. */
  get unsentBytes() {
    return this.#socket?.writableLength ?? 0;
  }

  get sentBytes() {
    return (this.#socket?.bytesWritten ?? 0) - this.unsentBytes;
  }

  get isOpen() {
    return this.#isOpen;
  }

  /** Why there is no broker, as far as it is known. */
  get cause() {
    return this.#launcher?.cause;
  }

  /** Whether the kernel has all that was sent, and knows of no end of the connection. */
  get isFlushed() {
    // Only Node hands the bytes over before write() returns.
    if (!this.#isOpen || CLOCK_KIND !== 'boot') return false;
    const { writable, writableLength } = /** @type {Socket} */ (this.#socket);
    return writable && writableLength === 0; // what it drops after an error has no length
  }

  /** Now, by the broker's clock. */
  now() {
    return this.toBrokerTime(machineNow());
  }

  /** @param {number} t  by the clock of this process */
  toBrokerTime(t) {
    return t + this.#clockOffset;
  }

  /** No effect while there is a connection, or a search for one. */
  open() {
    if (this.#socket !== undefined || this.#launcher !== undefined) return;
    clearTimeout(this.#retryTimer);
    const launcher = new Launcher(this.#place);
    this.#launcher = launcher;
    const onFound = (/** @type {Found | undefined} */ found) => {
      if (this.#launcher !== launcher) return found?.connection.socket.destroy();
      this.#launcher = undefined;
      return found === undefined ? undefined : this.#greet(found);
    };
    const onFailure = (/** @type {Error} */ error) => {
      if (this.#launcher !== launcher) return;
      this.#launcher = undefined;
      this.#user.onFailure(error);
    };
    // A then() of the program that throws would leave a link that never opens.
    void apply(then, launcher.reach(), [onFound, onFailure]);
  }

  /** @param {unknown[]} message */
  send(message) {
    if (this.#isOpen) this.#socket?.write(toLine(message));
  }

  close() {
    clearTimeout(this.#retryTimer);
    this.#launcher?.giveUp();
    this.#launcher = undefined;
    const socket = this.#socket;
    this.#socket = undefined;
    this.#isOpen = false;
    socket?.end();
    socket?.unref();
  }

  /** @param {Found} found */
  #greet(found) {
    const { connection } = found;
    const { socket } = connection;
    this.#socket = socket;
    const nonce = newNonce();
    const reader = new LineReader((message) => {
      if (this.#socket !== socket) return;
      // A broker whose folder was removed reports that to all clients, also before its greeting.
      if (this.#isOpen || message[0] === 'over') this.#user.onMessage(message);
      else if (this.#onGreeting(message, nonce, found)) reader.trust();
    });
    connection.read((bytes, length) => {
      try {
        reader.push(bytes, length);
      } catch (error) {
        this.#fail(/** @type {Error} */ (error));
      }
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#onClose(socket));
  }

  /**
   * @param {any[]} message
   * @param {string} nonce
   * @param {Found} found
   * @returns {boolean} whether the greetings are over
   */
  #onGreeting([kind, ...rest], nonce, { claim, askedAt }) {
    const socket = /** @type {Socket} */ (this.#socket);
    if (kind === 'hi') {
      const [version, brokerNonce, ...clock] = rest;
      if (version !== WIRE_VERSION) {
        throw invalidStateError(
          `The broker in ${this.#place.folder} is of another version of holdfast ` +
            `(${version}, not ${WIRE_VERSION}): it ends when its clients have ended`,
        );
      }
      this.#clockOffset = leadOf(clock, askedAt);
      socket.write(toLine(['auth', proofOf(claim.key, 'client', brokerNonce), nonce]));
      return false;
    }
    if (kind !== 'welcome' || !isProof(claim.key, 'broker', nonce, rest[0])) {
      throw new DOMException(
        `Another program answers in the place of the broker: ${claim.socket}`,
        'SecurityError',
      );
    }
    const messages = this.#user.hello((t) => this.toBrokerTime(t));
    this.#isOpen = true;
    this.#refusals = 0;
    for (const first of messages) this.send(first);
    return true;
  }

  /** @param {Error} error */
  #fail(error) {
    this.close();
    this.#user.onFailure(error);
  }

  /** @param {Socket} socket */
  #onClose(socket) {
    if (this.#socket !== socket) return;
    this.#socket = undefined;
    const wasOpen = this.#isOpen;
    this.#isOpen = false;
    if (wasOpen) {
      this.#user.onClose();
      return;
    }
    // The broker died, or was about to end, before its greeting.
    this.#refusals += 1;
    if (this.#refusals <= MAX_REFUSALS) {
      const ms = Math.min(FIRST_RETRY_MS * 2 ** (this.#refusals - 1), MAX_RETRY_MS);
      this.#retryTimer = setTimeout(() => this.open(), ms).unref();
      return;
    }
    this.#refusals = 0;
    const log = `${this.#place.folder}/log`;
    const message = `Each broker ends before it greets its clients, for the reason in ${log}`;
    this.#user.onFailure(invalidStateError(message));
  }
}

/**
 * @param {any[]} clock  of the broker, as received
 * @param {number} askedAt
 */
function leadOf([kind, now, lead], askedAt) {
  const ours = { kind: CLOCK_KIND, askedAt, heardAt: machineNow() };
  return clockLead({ kind, now, wallLead: lead }, ours);
}

module.exports = { Link };
