'use strict';

/**
 * The numbers in which the native part takes flags and gives answers; the same as those that it
 * exports, which would have to be looked up in a table at each use.
 */
module.exports = Object.freeze({
  // Flags of a request.
  SHARED: 1,
  IF_AVAILABLE: 2,
  STEAL: 4,
  /** So many low bits of an answer are the outcome, the others an id. */
  OUTCOME_BITS: 2,
  // Kinds of events.
  EVENT_GRANTED: 0,
  EVENT_MISSED: 1,
  EVENT_FAILED: 2,
  EVENT_LOST: 3,
  EVENT_EXPIRED: 4,
  EVENT_STALLED: 5,
  EVENT_RELEASED: 6,
  // What the end of a lock may answer, with HAS_EVENTS beside it.
  LOSS_EXPIRED: 2,
  /** An event will say it. */
  LOSS_UNKNOWN: 3,
  HAS_EVENTS: 4,
  // What the reading of events answers, beside a count above so many low bits.
  MORE_EVENTS: 1,
  DISCONNECTED: 2,
  COUNT_SHIFT: 2,
  // The words that both sides see: a token, then events.
  TOKEN_WORDS: 2,
  EVENT_WORDS: 4,
  MAX_EVENTS: 255,
});
