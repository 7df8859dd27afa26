'use strict';

/**
 * Where the demonstration's locks live: HOLDFAST_URL alone moves them, to an etcd cluster for one.
 * @param {string} directory  without it
 * @returns {import('..').OpenLockManagerOptions}
 */
const toPlace = (directory) =>
  process.env.HOLDFAST_URL ? { bucket: 'demo' } : { bucket: 'demo', directory };

module.exports = { toPlace };
