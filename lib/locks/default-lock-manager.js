'use strict';

const { openDefaultBackend } = require('../backends/default-backend.js');
const { createLockManager } = require('./lock-manager.js');

/** The bucket `default`, shared by all threads of all processes of this user. */
const locks = createLockManager(() => openDefaultBackend({}));

module.exports = { locks };
