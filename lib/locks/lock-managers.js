'use strict';

const { createLockManager } = require('./lock-manager.js');

/** The bucket `default`, shared by all threads of all processes of this user. */
const locks = createLockManager(() => {
  const { openDefaultBackend } = require('../backends/default-backend.js');
  return openDefaultBackend({});
});

/**
 * Makes a lock manager in plain JavaScript, for this thread alone and shared with no other manager.
 * @returns {import('./lock-manager.js').LockManager}
 */
function createLocalLockManager() {
  return createLockManager(() => {
    const { LocalBackend } = require('../backends/local/backend.js');
    return new LocalBackend();
  });
}

module.exports = { createLocalLockManager, locks };
