'use strict';

/**
 * How client and broker speak: one JSON array per line. JSON escapes lone surrogates, so every name
 * crosses as it is.
 *
 * To the broker, `t` by the broker's clock:
 *   auth [proof, nonce] · hello [state] · q [id, name, flags, t, extras] · r [id, t] ·
 *   c [id, isTimeout, t] · f [id] · ? [call, what, t, argument] · bye []
 * From the broker:
 *   hi [version, nonce, clock, now, wallLead] · welcome [proof] · w [id] · g [id, high, low] ·
 *   m [id] · l [id, reason, high, low] · d [id, reason] · e [id, name, message] ·
 *   a [call, value] · over [name, message]: no more is to be had here, and why
 */

const WIRE_VERSION = 1;

/** Flags of a request. */
const SHARED = 1;
const IF_AVAILABLE = 2;
const STEAL = 4;

/** What a client says of its request when it comes back. */
const VIEW = Object.freeze({ WAITING: 0, HELD: 1, RELEASING: 2 });

/** No greeting is longer, so a stranger cannot fill the memory of the other side with one line. */
const MAX_GREETING_UNITS = 2 ** 16;
/** No line is longer. What `inspect()` says of 100,000 requests takes 16 million. */
const MAX_KNOWN_LINE_UNITS = 2 ** 27;

/** @param {unknown[]} message */
const toLine = (message) => `${JSON.stringify(message)}\n`;

/** The other side does not keep to the protocol. */
class WireError extends Error {}

/** Makes messages of the pieces that a connection delivers. */
class LineReader {
  #rest = '';
  #maxUnits = MAX_GREETING_UNITS;
  #onMessage;

  /** @param {(message: any[]) => void} onMessage */
  constructor(onMessage) {
    this.#onMessage = onMessage;
  }

  /** The other side has proved that it belongs to the same user. */
  trust() {
    this.#maxUnits = MAX_KNOWN_LINE_UNITS;
  }

  /**
   * @param {string} piece
   * @throws WireError
   */
  push(piece) {
    const lines = piece.split('\n');
    const last = /** @type {string} */ (lines.pop());
    if (lines.length === 0) this.#rest += last;
    else {
      lines[0] = this.#rest + lines[0];
      this.#rest = last;
    }
    for (const line of lines) this.#onMessage(toMessage(line));
    if (this.#rest.length > this.#maxUnits) throw new WireError('a line without end');
  }
}

/**
 * @param {string} line
 * @returns {any[]}
 */
function toMessage(line) {
  let message;
  try {
    message = JSON.parse(line);
  } catch (cause) {
    throw new WireError('a line that is not JSON', { cause });
  }
  if (!Array.isArray(message)) throw new WireError('a message that is not a list');
  return message;
}

module.exports = {
  IF_AVAILABLE,
  LineReader,
  SHARED,
  STEAL,
  VIEW,
  WIRE_VERSION,
  WireError,
  toLine,
};
