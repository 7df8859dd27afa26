'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const { O_NONBLOCK, O_RDONLY } = fs.constants;

/**
 * Makes the FIFO `lifeline` for a program to open for writing, which needs a reader.
 * @param {string} directory
 * @returns {() => void} ends this reader
 */
function makeLifeline(directory) {
  const lifeline = path.join(directory, 'lifeline');
  fs.rmSync(lifeline, { force: true });
  execFileSync('mkfifo', [lifeline]);
  const reader = fs.openSync(lifeline, O_RDONLY | O_NONBLOCK);
  return () => fs.closeSync(reader);
}

module.exports = { makeLifeline };
