'use strict';

/**
 * What a backend's enqueue() answers: the request waits, holds the lock, or (ifAvailable) was
 * refused.
 */
module.exports = Object.freeze({ QUEUED: 0, GRANTED: 1, MISSED: 2 });
