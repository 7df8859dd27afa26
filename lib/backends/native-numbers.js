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
  // Kinds of news.
  NEWS_GRANTED: 0,
  NEWS_MISSED: 1,
  NEWS_FAILED: 2,
  NEWS_LOST: 3,
  NEWS_EXPIRED: 4,
  NEWS_STALLED: 5,
  // What the end of a lock may answer, with HAS_NEWS beside it.
  LOSS_EXPIRED: 2,
  HAS_NEWS: 4,
  // What the reading of news answers, beside a count above so many low bits.
  MORE_NEWS: 1,
  DISCONNECTED: 2,
  COUNT_SHIFT: 2,
  // The words that both sides see: a token, then news.
  TOKEN_WORDS: 2,
  NEWS_WORDS: 4,
  MOST_NEWS: 255,
});
