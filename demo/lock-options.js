'use strict';

/**
 * The options for the demonstration's locks. HOLDFAST_URL moves the locks, for example to etcd.
 * @param {string} directory  for the locks if HOLDFAST_URL is not set
 * @returns {import('..').OpenLockManagerOptions}
 */
const toLockOptions = (directory) =>
  process.env.HOLDFAST_URL ? { bucket: 'demo' } : { bucket: 'demo', directory };

module.exports = { toLockOptions };
