'use strict';

/**
 * Results of a backend's enqueue(): the request waits, holds the lock, or (ifAvailable) was
 * refused.
 */
module.exports = Object.freeze({ QUEUED: 0, GRANTED: 1, MISSED: 2 });
