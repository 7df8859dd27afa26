'use strict';

const fs = require('node:fs');

/**
 * Removes a file, if it is there. Unlike fs.rmSync(), it loads nothing into the memory of a broker.
 * @param {string} file
 */
function removeFile(file) {
  try {
    fs.unlinkSync(file);
  } catch (error) {
    if (/** @type {any} */ (error).code !== 'ENOENT') throw error;
  }
}

module.exports = { removeFile };
