'use strict';

const fs = require('node:fs');
const path = require('node:path');
const { namesIn } = require('./broker-files.js');
const { removeFile } = require('./remove-file.js');

/** @typedef {import('./broker-files.js').BrokerFiles} BrokerFiles */

/**
 * The sockets of brokers and candidates: in the folder of claims, or in the short directory where
 * their paths would be too long. All buckets of the user share that one, so a file in the folder of
 * claims, `at-s<id>`, says which of its sockets are of this bucket. It is there before the socket.
 */

const SOCKET_NAME = /^s[0-9a-f]{16}$/;
const POINTER_NAME = /^at-(s[0-9a-f]{16})$/;
const PRIVATE_FILE = 0o600;

/**
 * @param {BrokerFiles} place
 * @returns {string} a name for a new socket
 */
function newBrokerSocket(place) {
  const name = place.newSocketName(place.claimsFolder);
  if (place.hasSocketFiles && path.dirname(name) !== place.claimsFolder) {
    const pointer = path.join(place.claimsFolder, `at-${path.basename(name)}`);
    fs.writeFileSync(pointer, '', { mode: PRIVATE_FILE, flag: 'wx' });
  }
  return name;
}

/**
 * Removes what brokers and candidates before have left behind; those that still listen lose.
 * @param {BrokerFiles} place
 * @param {string} own  stays
 */
function removeBrokerSockets(place, own) {
  for (const name of namesIn(place.claimsFolder)) {
    const file = path.join(place.claimsFolder, name);
    const [, elsewhere] = POINTER_NAME.exec(name) ?? [];
    if (SOCKET_NAME.test(name) && file !== own) removeFile(file);
    if (elsewhere === undefined || elsewhere === path.basename(own)) continue;
    removeFile(path.join(place.shortDirectory, elsewhere));
    removeFile(file);
  }
}

module.exports = { newBrokerSocket, removeBrokerSockets };
