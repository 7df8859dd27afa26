'use strict';

/**
 * Flags for the native part and codes of its answers. They are copies of the numbers that it
 * exports, because a lookup there would cost time at each use; a test compares them.
 */
module.exports = Object.freeze({
  // Flags of a request.
  SHARED: 1,
  IF_AVAILABLE: 2,
  STEAL: 4,
  BACKGROUND: 8,
  USER_BLOCKING: 16,
  /** The lowest bits of an answer are the outcome, the others an id. */
  OUTCOME_BITS: 2,
  /** An outcome: granted, and events of other requests are to be reported before. */
  GRANTED_BEHIND: 3,
  // Kinds of events.
  EVENT_GRANTED: 0,
  EVENT_MISSED: 1,
  EVENT_FAILED: 2,
  EVENT_LOST: 3,
  EVENT_EXPIRED: 4,
  EVENT_STALLED: 5,
  EVENT_RELEASED: 6,
  EVENT_CORRUPTED: 7,
  EVENT_CONTENDED: 8,
  /** In an event and an answer: no request waits. Above are the priorities. */
  CONTENTION_NONE: 1,
  // Answers to a blocking wait, beside the kinds of events; HAS_OTHERS may be added to those.
  SELF_DEADLOCK: 9,
  HAS_OTHERS: 16,
  // Answers to the end of a lock; HAS_EVENTS may be added.
  LOSS_EXPIRED: 2,
  /** A later event will report it. */
  LOSS_UNKNOWN: 3,
  LOSS_CORRUPTED: 4,
  HAS_EVENTS: 8,
  // The answer to a read of events: these flags, with a count above the lowest bits.
  MORE_EVENTS: 1,
  DISCONNECTED: 2,
  COUNT_SHIFT: 2,
  // The words in the shared array: a token, then events.
  TOKEN_WORDS: 2,
  EVENT_WORDS: 4,
  MAX_EVENTS: 255,
  // Biased locks: an answer to the end of a lock, the words behind the events, and the offsets of
  // a record's fields.
  IS_BIASED: 16,
  SLOT_SHIFT: 5,
  MAX_BIASED: 8,
  BUDGET_WORD: 1022,
  BUDGET_WORDS: 6,
  FREED_WORD: 1023,
  TURN_WORD: 1024,
  STATES_WORD: 1026,
  TOKEN_BYTES: 16,
  MODE_BYTES: 40,
  REQUESTED_BYTES: 96,
  GRANTED_BYTES: 104,
});
