'use strict';

const { getEnvironmentData, setEnvironmentData } = require('node:worker_threads');
const { securityError } = require('./broker-files.js');

/** @typedef {import('./broker-files.js').BrokerFiles} BrokerFiles */

/**
 * @typedef {object} OpenPlace
 * @property {string} bucket
 * @property {string} folder
 * @property {number | undefined} user  that opened it
 * @property {Int32Array} isOpen  one word, shared with the threads that have inherited it
 */

/** Threads inherit what is kept here from the one that starts them, as it is then. */
const KEY = 'holdfast.broker.open-places';

/** @returns {Map<string, OpenPlace>} by client */
const openPlaces = () => /** @type {any} */ (getEnvironmentData(KEY)) ?? new Map();

/**
 * Makes the folders of a bucket for a client, and notes that it is open. After a change of the user
 * the default directory is another one: two brokers would grant one lock.
 * @param {BrokerFiles} place
 * @param {string} clientId
 * @throws DOMException (SecurityError)
 */
function enterPlace(place, clientId) {
  const { bucket, folder } = place;
  const user = process.geteuid?.();
  const places = openPlaces();
  for (const known of places.values()) {
    if (known.bucket !== bucket || known.user === user || known.folder === folder) continue;
    if (Atomics.load(known.isOpen, 0) === 0) continue;
    throw securityError(
      'this process has changed its user since it opened this bucket in the directory of the ' +
        `former one, ${known.folder}: open it after the change, or close it before`,
    );
  }
  place.ensure();
  const isOpen = new Int32Array(new SharedArrayBuffer(4)).fill(1);
  places.set(clientId, { bucket, folder, user, isOpen });
  setEnvironmentData(KEY, /** @type {any} */ (places));
}

/** @param {string} clientId */
function leavePlace(clientId) {
  const places = openPlaces();
  const left = places.get(clientId);
  if (left === undefined) return;
  Atomics.store(left.isOpen, 0, 0);
  places.delete(clientId);
  if (places.size === 0) setEnvironmentData(KEY, /** @type {any} */ (undefined));
}

module.exports = { enterPlace, leavePlace };
