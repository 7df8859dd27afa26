'use strict';

const { statfsSync } = require('node:fs');
const { NETWORK_FILE_SYSTEMS } = require('../backends/directory-access.js');

const TMPFS = 0x0102_1994;
const RAMFS = 0x8584_58f6;

/**
 * The file system of a path.
 * @param {string} file
 */
function fileSystemOf(file) {
  const { type, bsize, bavail } = statfsSync(file);
  return {
    type,
    /** Its name, if it is one over a network. */
    network: /** @type {string | undefined} */ (NETWORK_FILE_SYSTEMS[type]),
    isInMemory: type === TMPFS || type === RAMFS,
    freeBytes: bsize * bavail,
  };
}

module.exports = { fileSystemOf };
