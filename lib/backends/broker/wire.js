'use strict';

/**
 * How client and broker speak: one JSON array per line. JSON escapes lone surrogates, so every name
 * crosses as it is.
 *
 * To the broker, `t` by the broker's clock:
 *   auth [proof, nonce] · + [requests], of the next hello · hello [state] ·
 *   q [id, name, flags, t, extras] · r [id, t] ·
 *   c [id, isTimeout, t] · f [id] · ? [call, what, t, argument] · bye []
 * Calls (`?`) before `hello` take effect together with its requests, by their times.
 * From the broker:
 *   hi [version, nonce, clock, now, wallLead] · welcome [proof] · w [id] · g [id, high, low] ·
 *   m [id] · l [id, reason, high, low] · d [id, reason] · e [id, name, message] ·
 *   p [call, key, items], which go before the items of the answer · a [call, value] ·
 *   x [call, name, message]: no answer ·
 *   over [name, message, knownUpTo]: no more is to be had here, and why; with the highest number of
 *   a request in its table if its directory was removed
 */

const WIRE_VERSION = 4;

/** Flags of a request. */
const SHARED = 1;
const IF_AVAILABLE = 2;
const STEAL = 4;
/** The client needs no message that it waits: no `w`, which would wake a process for nothing. */
const PATIENT = 8;

/** A client's state of its request when it reconnects. */
const VIEW = Object.freeze({ WAITING: 0, HELD: 1, RELEASING: 2 });

module.exports = { IF_AVAILABLE, PATIENT, SHARED, STEAL, VIEW, WIRE_VERSION };
