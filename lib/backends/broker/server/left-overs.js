'use strict';

const { removeBrokerSockets } = require('../broker-sockets.js');
const { removeOldDrafts } = require('../lifeline-files.js');

/**
 * Removes what brokers, candidates and clients that were killed have left in a bucket, but for
 * lifelines: whether a client lives is asked by its own.
 * @param {import('../broker-files.js').BrokerFiles} place
 * @param {import('../broker-files.js').Claim} claim  of this broker
 */
function removeLeftOvers(place, { number, socket }) {
  place.cleanUp(number);
  removeBrokerSockets(place, socket);
  removeOldDrafts(place);
}

module.exports = { removeLeftOvers };
