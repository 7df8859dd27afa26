'use strict';

const { createLockManager } = require('./lock-manager.js');

/** The bucket `default`, shared by all threads of all processes of this user. */
const locks = createLockManager(() => {
  const { openDefaultBackend } = require('../backends/default-backend.js');
  return openDefaultBackend({});
});

module.exports = { locks };
