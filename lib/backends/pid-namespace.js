'use strict';

const { readlinkSync } = require('node:fs');
const { lazy } = require('../lazy.js');

/**
 * The name of the PID namespace of this process: process ids mean something to processes with the
 * same one. Empty: not known, or there are none, as on other systems than Linux.
 */
const pidNamespace = lazy(() => {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
});

module.exports = { pidNamespace };
