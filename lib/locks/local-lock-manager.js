'use strict';

const { createLockManager } = require('./lock-manager.js');

/**
 * A lock manager in plain JavaScript, for this thread alone and shared with nobody.
 * @returns {import('./lock-manager.js').LockManager}
 */
function createLocalLockManager() {
  return createLockManager(() => {
    const { LocalBackend } = require('../backends/local/backend.js');
    return new LocalBackend();
  });
}

module.exports = { createLocalLockManager };
