'use strict';

const { readFileSync } = require('node:fs');

/**
 * Returns a new UUID. Linux makes them; loading node:crypto takes half as long as loading this
 * package.
 * @returns {string}
 */
function createClientId() {
  try {
    return readFileSync('/proc/sys/kernel/random/uuid', 'utf8').trim();
  } catch {
    return require('node:crypto').randomUUID(); // not Linux, or no /proc
  }
}

module.exports = { createClientId };
