'use strict';

const { readFileSync } = require('node:fs');

/**
 * A new UUID. Linux makes them itself; node:crypto would take as long to load as half of this
 * package.
 * @returns {string}
 */
function createClientId() {
  try {
    return readFileSync('/proc/sys/kernel/random/uuid', 'utf8').trim();
  } catch {
    return require('node:crypto').randomUUID(); // no Linux, or no /proc
  }
}

module.exports = { createClientId };
