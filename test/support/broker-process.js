'use strict';

const { readFileSync } = require('node:fs');

const PROGRAM = 'broker/server/main.js';

/**
 * Whether a process is a broker. The number in a claim may belong to a stranger by now: numbers
 * come round. Where /proc does not tell, it is taken for one.
 * @param {number} pid
 */
function isBroker(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(PROGRAM);
  } catch {
    return process.platform !== 'linux';
  }
}

/**
 * Sends a signal to the broker of a place, if it lives.
 * @param {import('../../lib/backends/broker/broker-files.js').BrokerFiles} place
 * @param {NodeJS.Signals} signal
 */
function signalBroker(place, signal) {
  const pid = place.readClaim(place.highestClaim())?.pid;
  if (pid === undefined || !isBroker(pid)) return;
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (/** @type {any} */ (error).code !== 'ESRCH') throw error;
  }
}

/** @param {import('../../lib/backends/broker/broker-files.js').BrokerFiles} place */
const killBroker = (place) => signalBroker(place, 'SIGKILL');

module.exports = { killBroker, signalBroker };
