'use strict';

const { makeDirectory } = require('./bucket.js');
const { loadPeer } = require('../peers/peers.js');

/**
 * The only client of locks whose server, where they have one, is started for it.
 * @param {string} peerName
 */
async function openAlone(peerName) {
  const directory = makeDirectory();
  const peer = loadPeer(peerName);
  await peer.serve?.(directory);
  const locks = await peer.open({ directory, name: 'ledger', party: 0, parties: 1 });
  return { directory, peer, locks };
}

module.exports = { openAlone };
