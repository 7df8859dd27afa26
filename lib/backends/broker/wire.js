'use strict';

const { createHmac, randomBytes, timingSafeEqual } = require('node:crypto');

/**
 * How client and broker speak: one JSON array per line. JSON escapes lone surrogates, so every name
 * crosses as it is.
 *
 * To the broker, `t` by the broker's clock:
 *   auth [proof, nonce] · + [requests], of the next hello · hello [state] ·
 *   q [id, name, flags, t, extras] · r [id, t] ·
 *   c [id, isTimeout, t] · y [id, flags, t] · f [id] · ? [call, what, t, argument] · bye [] ·
 *   k [id, priority]: a holder that knows this highest priority of those that wait, or null, is
 *   notified of another one from now on
 * Calls (`?`) before `hello` take effect together with its requests, by their times.
 * From the broker:
 *   hi [version, nonce, clock, now, wallLead] · welcome [proof] · w [id] · g [id, high, low] ·
 *   m [id] · k [id, priority] · l [id, reason, high, low] · d [id, reason] ·
 *   e [id, name, message] ·
 *   p [call, key, items], which go before the items of the answer · a [call, value] ·
 *   x [call, name, message]: no answer · . []: it lives, and reads what the client has sent ·
 *   full [cause]: it has no descriptor for this client, and ends the connection ·
 *   ready []: its recovery has ended, and it serves this client ·
 *   over [name, message, knownUpTo]: no more is to be had here, and why; with the highest number of
 *   a request that its table has had, if its directory was removed
 */

const WIRE_VERSION = 8;

/** Flags of a request. */
const SHARED = 1;
const IF_AVAILABLE = 2;
const STEAL = 4;
/** The client needs no message that it waits: no `w`, which would wake a process for nothing. */
const PATIENT = 8;
const BACKGROUND = 16;
const USER_BLOCKING = 32;
const PRIORITIES = BACKGROUND | USER_BLOCKING;

const PRIORITY_FLAGS = {
  background: BACKGROUND,
  'user-visible': 0,
  'user-blocking': USER_BLOCKING,
};

/** @param {number} flags */
function priorityIn(flags) {
  if ((flags & BACKGROUND) !== 0) return 'background';
  return (flags & USER_BLOCKING) !== 0 ? 'user-blocking' : 'user-visible';
}

/** A client's state of its request when it reconnects. */
const VIEW = Object.freeze({ WAITING: 0, HELD: 1, RELEASING: 2 });

/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */

/** @param {Request} request */
function flagsOf({ mode, ifAvailable, steal, isTimed, extras }) {
  const plain =
    (mode === 'shared' ? SHARED : 0) | (ifAvailable ? IF_AVAILABLE : 0) | (steal ? STEAL : 0);
  const flags = plain | PRIORITY_FLAGS[extras?.priority ?? 'user-visible'];
  // Once it waits, a broker that comes later must not refuse it.
  const isPatient = isTimed === false && (extras?.maxPending ?? Infinity) === Infinity;
  return isPatient ? flags | PATIENT : flags;
}

/** Of `maxPending`: any number. */
const ANY_NUMBER = -1;

/**
 * @param {Request} request
 * @param {boolean} isWaiting  it has been accepted
 */
function wireExtrasOf({ extras }, isWaiting) {
  if (extras === undefined) return null;
  const { limit, holdLimit, label, callSite, enclosing, maxPending } = extras;
  const halves = [enclosing?.tokenHigh ?? 0, enclosing?.tokenLow ?? 0];
  const max = isWaiting || maxPending === Infinity ? ANY_NUMBER : maxPending;
  return [limit, holdLimit, label, callSite, ...halves, max];
}

/**
 * A request as it crosses.
 * @param {{ number: number, request: Request, isAnswered: boolean }} entry
 * @param {number} t  by the broker's clock
 */
const fieldsOf = ({ number, request, isAnswered }, t) => [
  number,
  request.name,
  flagsOf(request),
  t,
  wireExtrasOf(request, isAnswered),
];

/**
 * A request with all that its client knows of it, for a broker that may know less, or more.
 * @param {import('../remote/request-table.js').Entry} entry
 * @param {(t: number) => number} toBrokerTime
 */
function reportOf(entry, toBrokerTime) {
  const { request, isHeld, onEnded } = entry;
  const held = isHeld ? VIEW.HELD : VIEW.WAITING;
  const at = toBrokerTime(entry.at);
  return [
    onEnded === undefined ? held : VIEW.RELEASING,
    fieldsOf(entry, at),
    request.tokenHigh,
    request.tokenLow,
    at,
  ];
}

/** @param {number} high @param {number} low */
const tokenOf = (high, low) => (BigInt(high) << 32n) | BigInt(low);

/**
 * The broker's messages about a request, as the table of requests takes them.
 * @type {Record<string, (...rest: any[]) => object>}
 */
const REQUEST_MESSAGES = {
  w: () => ({ type: 'queued' }),
  g: (high, low) => ({ type: 'granted', token: tokenOf(high, low) }),
  m: () => ({ type: 'missed' }),
  k: (priority) => ({ type: 'contended', priority }),
  l: (reason, high, low) => ({ type: 'lost', reason, token: tokenOf(high, low) }),
  d: (loss) => ({ type: 'ended', loss: loss ?? undefined }),
  e: (name, message) => ({ type: 'failed', error: new DOMException(message, name) }),
};

/** Messages and records as lines of text: one JSON array each. */

const NEWLINE = 10;
/** No greeting is longer, so a stranger cannot fill the memory of the other side with one line. */
const MAX_GREETING_BYTES = 2 ** 16;
/** No line is longer. The answer to `inspect()` with 100,000 requests takes 16 million. */
const MAX_KNOWN_LINE_BYTES = 2 ** 27;

/** The other side does not keep to the protocol. */
class WireError extends Error {}

/**
 * The same as JSON.stringify(), in half the time for short lists of numbers and short texts.
 * @param {unknown[]} message
 */
function toLine(message) {
  let line = `["${message[0]}"`; // a word of the protocol
  for (let i = 1; i < message.length; i += 1) line += `,${toJson(message[i])}`;
  return `${line}]\n`;
}

/** @param {unknown} value */
function toJson(value) {
  if (value === null) return 'null';
  if (typeof value === 'number') return Number.isFinite(value) ? `${value}` : 'null';
  return JSON.stringify(value) ?? 'null';
}

/** Makes messages of the pieces that a connection delivers. */
class LineReader {
  /** @type {Buffer[]} of a line whose end has not come */
  #rest = [];
  #restBytes = 0;
  #maxBytes = MAX_GREETING_BYTES;
  #onMessage;

  /** @param {(message: any[]) => void} onMessage */
  constructor(onMessage) {
    this.#onMessage = onMessage;
  }

  /** The other side has proved that it belongs to the same user. */
  trust() {
    this.#maxBytes = MAX_KNOWN_LINE_BYTES;
  }

  /**
   * @param {Buffer} bytes  may be used again afterwards
   * @param {number} [length]  how many of them count
   * @throws WireError
   */
  push(bytes, length = bytes.length) {
    const isWhole = bytes[length - 1] === NEWLINE;
    const end = isWhole ? length : bytes.lastIndexOf(NEWLINE, length - 1) + 1;
    if (end > 0) this.#read(this.#takeText(bytes, end));
    if (end < length) this.#keep(Buffer.from(bytes.subarray(end, length)));
  }

  /**
   * @param {Buffer} bytes
   * @param {number} end  of the last whole line
   */
  #takeText(bytes, end) {
    if (this.#restBytes === 0) return bytes.toString('utf8', 0, end);
    const text = Buffer.concat([...this.#rest, bytes.subarray(0, end)]).toString('utf8');
    this.#rest = [];
    this.#restBytes = 0;
    return text;
  }

  /** @param {string} text  whole lines */
  #read(text) {
    if (text.indexOf('\n') === text.length - 1) {
      this.#onMessage(toMessage(text));
      return;
    }
    const lines = text.split('\n');
    lines.pop(); // behind the last one
    for (const line of lines) this.#onMessage(toMessage(line));
  }

  /** @param {Buffer} bytes */
  #keep(bytes) {
    this.#rest.push(bytes);
    this.#restBytes += bytes.length;
    if (this.#restBytes > this.#maxBytes) throw new WireError('a line without end');
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

// Lists that cross in several messages: a line has a limit of its length, a list of requests none.

/** Escaped, a page takes at most six times as many bytes, and its last item as many again. */
const PAGE_UNITS = 2 ** 18;
/** The work for an item, beside its name and label: a page has 256 items at most. */
const ITEM_UNITS = 1024;

/**
 * Pages of bounded length. Yields the full ones, and returns the last one.
 * @template T
 * @param {Iterable<T>} list  read as far as the page needs it
 * @param {(item: T) => number} unitsOf  its texts
 * @returns {Generator<T[], T[], void>}
 */
function* toPages(list, unitsOf) {
  /** @type {T[]} */
  let page = [];
  let units = 0;
  for (const item of list) {
    if (units >= PAGE_UNITS) {
      yield page;
      page = [];
      units = 0;
    }
    page.push(item);
    units += ITEM_UNITS + unitsOf(item);
  }
  return page;
}

/**
 * All that a client has, in messages of bounded length: `hello`, and before it the requests that
 * would make it too long.
 * @param {{ requests: any[] }} state
 * @param {boolean} isHelper  the connection is of the helper thread
 * @returns {unknown[][]}
 */
function handshakeMessages(state, isHelper) {
  const pages = toPages(state.requests, ([, [, name, , , extras]]) => {
    return name.length + (extras?.[2].length ?? 0);
  });
  const messages = [];
  let page = pages.next();
  for (; !page.done; page = pages.next()) messages.push(['+', page.value]);
  return [...messages, ['hello', { ...state, requests: page.value }, isHelper]];
}

// Tokens cross as strings, because JSON has no such values.

/** @param {bigint | null | undefined} token */
const toText = (token) => (typeof token === 'bigint' ? `${token}` : token);

/** @param {any} item  a detail or an event */
const toPlain = (item) => ({
  ...item,
  token: toText(item.token),
  enclosingToken: toText(item.enclosingToken),
});

/** @param {string | null} text */
const toToken = (text) => (text === null ? null : BigInt(text));

/**
 * @param {any} detail  as it crosses
 * @returns {import('../../../types/backend.d.ts').LockDetail}
 */
const toDetail = (detail) => ({
  ...detail,
  token: toToken(detail.token),
  enclosingToken: toToken(detail.enclosingToken),
});

/**
 * @param {{ held: any[], pending: any[] }} inspection  as it crosses
 * @returns {import('../../../types/backend.d.ts').LockInspection}
 */
const toInspection = ({ held, pending, ...rest }) => ({
  held: held.map(toDetail),
  pending: pending.map(toDetail),
  ...rest,
});

/**
 * @param {any} event  as it crosses
 * @returns {import('../../../types/backend.d.ts').LockEvent}
 */
const toEvent = (event) => ({ ...event, token: toToken(event.token) });

/** How client and broker show each other that they have read the same epoch. */

const newNonce = () => randomBytes(16).toString('hex');

/**
 * @param {string} key  of the epoch
 * @param {'client' | 'broker'} role
 * @param {string} nonce  of the other side
 */
const proofOf = (key, role, nonce) =>
  createHmac('sha256', key).update(`${role}:${nonce}`).digest('hex');

/**
 * @param {string} key
 * @param {'client' | 'broker'} role
 * @param {string} nonce
 * @param {unknown} proof
 */
function isProof(key, role, nonce, proof) {
  if (typeof proof !== 'string') return false;
  const expected = Buffer.from(proofOf(key, role, nonce));
  const given = Buffer.from(proof);
  return expected.length === given.length && timingSafeEqual(expected, given);
}

module.exports = {
  ANY_NUMBER,
  IF_AVAILABLE,
  PATIENT,
  PRIORITIES,
  SHARED,
  STEAL,
  REQUEST_MESSAGES,
  VIEW,
  WIRE_VERSION,
  LineReader,
  WireError,
  fieldsOf,
  flagsOf,
  priorityIn,
  reportOf,
  toLine,
  handshakeMessages,
  toPages,
  toDetail,
  toEvent,
  toInspection,
  toPlain,
  isProof,
  newNonce,
  proofOf,
};
