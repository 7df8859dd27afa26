'use strict';

/**
 * The phases of a request: waiting; granted or missed, with its callback about to run; holding the
 * lock; over.
 */
const WAITING = 0;
const GRANTED = 1;
const MISSED = 2;
const HOLDING = 3;
const OVER = 4;
/** Aborted between the grant and the callback; the lock is not released yet. */
const LEAVING = 5;

/** A callback returns this to keep the lock, and the released promise, until release(). */
const KEEP_HOLDING = Object.freeze({});

module.exports = { GRANTED, HOLDING, KEEP_HOLDING, LEAVING, MISSED, OVER, WAITING };
