'use strict';

const fs = require('node:fs');

const STANDARD_STREAMS = [0, 1, 2];

/** @param {number} descriptor  Whether it is a terminal that has been closed. */
function isHungUp(descriptor) {
  try {
    fs.writeSync(descriptor, '');
    return false;
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EIO';
  }
}

/**
 * Ends by SIGHUP, as other programs do, when the terminal was closed. Node sets terminals back when
 * it exits, and aborts, with a core dump, where that fails.
 */
function endByHangup() {
  if (process.platform === 'win32' || !STANDARD_STREAMS.some(isHungUp)) return;
  process.removeAllListeners('SIGHUP');
  process.kill(process.pid, 'SIGHUP');
}

module.exports = { endByHangup };
