'use strict';

const net = require('node:net');

/** @typedef {import('../broker-files.js').BrokerFiles} BrokerFiles */
/** @typedef {import('../broker-files.js').Epoch} Epoch */

/**
 * Whether a broker listens on the socket of an epoch.
 * @param {BrokerFiles} files
 * @param {Epoch} epoch
 * @returns {Promise<boolean>} also true if that is unknown
 */
function isServed(files, epoch) {
  return new Promise((resolve) => {
    const socket = net.connect(epoch.socket, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', (error) => {
      const { code } = /** @type {any} */ (error);
      resolve(files.isProofOfDeath(code, epoch).then((isDead) => !isDead));
    });
  });
}

/**
 * Claims an epoch, by the rules of the election (test/models/broker-election.pml). The previous
 * broker must be dead, the number free, and no higher number claimed meanwhile. A broker that has
 * died since may have removed epochs below the highest. That broker may also have removed the name
 * of this socket, which it took for stale. So the last check decides.
 * @param {BrokerFiles} files
 * @param {Epoch} epoch  whose socket is listening
 */
async function isLeader(files, epoch) {
  const highest = files.highestEpoch();
  if (highest !== epoch.number - 1) return false;
  if (highest > 0) {
    const before = files.readEpoch(highest);
    if (before !== undefined && (await isServed(files, before))) return false;
    if (before === undefined && files.highestEpoch() !== highest) return false;
  }
  if (!files.claimEpoch(epoch)) return false;
  return files.highestEpoch() === epoch.number && files.isReachable(epoch);
}

module.exports = { isLeader };
