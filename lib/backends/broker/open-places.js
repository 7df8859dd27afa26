'use strict';

const { getEnvironmentData, setEnvironmentData } = require('node:worker_threads');
const { securityError } = require('./broker-files.js');

/** @typedef {import('./broker-files.js').BrokerFiles} BrokerFiles */

/**
 * @typedef {object} OpenPlace
 * @property {string} bucket
 * @property {string} folder
 * @property {number | undefined} user  that opened it
 */

/** Threads inherit what is kept here from the one that starts them, as it is then. */
const KEY = 'holdfast.broker.open-places';

/** @type {Map<string, OpenPlace>} by client */
let places;

function openPlaces() {
  if (places !== undefined) return places;
  places = /** @type {any} */ (getEnvironmentData(KEY)) ?? new Map();
  setEnvironmentData(KEY, /** @type {any} */ (places));
  return places;
}

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
  for (const known of openPlaces().values()) {
    if (known.bucket !== bucket || known.user === user || known.folder === folder) continue;
    throw securityError(
      'this process has changed its user since it opened this bucket in the directory of the ' +
        `former one; open it after the change, or name a directory that both may use: ${folder}`,
    );
  }
  place.ensure();
  openPlaces().set(clientId, { bucket, folder, user });
}

/** @param {string} clientId */
function leavePlace(clientId) {
  openPlaces().delete(clientId);
}

module.exports = { enterPlace, leavePlace };
