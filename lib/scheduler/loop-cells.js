'use strict';

/** What a turn of the event loop owes to the work that is waiting, from the least up. */
const LEVEL = Object.freeze({
  /** Nothing is waiting. */
  NONE: 0,
  /** Only in a turn that found nothing else to do. */
  IDLE: 1,
  /** Once per turn, beside timers and setImmediate(). */
  NORMAL: 2,
  /** Ahead of the next timers and the next I/O. */
  URGENT: 3,
});

// The numbers that the scheduler and its loop hook both see; the same as in
// src/binding/loop_hook.h.
const CELL_LEVEL = 0;
const CELL_TURN = 1;
const CELL_RUN = 2;
const CELL_IDLE_MS = 3;
const CELL_COUNT = 4;

module.exports = { CELL_COUNT, CELL_IDLE_MS, CELL_LEVEL, CELL_RUN, CELL_TURN, LEVEL };
