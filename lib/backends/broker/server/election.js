'use strict';

const net = require('node:net');

/** @typedef {import('../broker-files.js').BrokerFiles} BrokerFiles */
/** @typedef {import('../broker-files.js').Claim} Claim */

/**
 * Whether a broker listens on the socket of a claim.
 * @param {BrokerFiles} place
 * @param {Claim} claim
 * @returns {Promise<boolean>} also true if that is unknown
 */
function isServed(place, claim) {
  return new Promise((resolve) => {
    const socket = net.connect(claim.socket, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', (error) => {
      const { code } = /** @type {any} */ (error);
      resolve(place.isProofOfDeath(code, claim).then((isDead) => !isDead));
    });
  });
}

/**
 * Makes a claim, by the rules of the election (test/models/broker-election.pml): the one before is
 * dead, the number is free, and no higher one has been made meanwhile. Claims below the highest may
 * have been removed, and so may the name of this socket, by a broker that has died since: it took
 * the socket for left over. So the last look decides.
 * @param {BrokerFiles} place
 * @param {Claim} claim  whose socket is listening
 */
async function isLeader(place, claim) {
  const highest = place.highestClaim();
  if (highest !== claim.number - 1) return false;
  if (highest > 0) {
    const before = place.readClaim(highest);
    if (before !== undefined && (await isServed(place, before))) return false;
    if (before === undefined && place.highestClaim() !== highest) return false;
  }
  if (!place.makeClaim(claim)) return false;
  return place.highestClaim() === claim.number && place.isReachable(claim);
}

module.exports = { isLeader };
