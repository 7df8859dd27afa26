'use strict';

const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { openLockManager } = require('../../lib/index.js');

/** @param {string} directory */
const openBroker = (directory) => openLockManager({ url: `broker://${directory}` });

/** @param {import('./peers.js').PeerSetup} setup */
function open({ directory, name }) {
  const locks = openBroker(directory);
  return { run: (section) => locks.request(name, section), close: () => locks.close() };
}

/** The number of the process that serves the bucket. @param {string} directory */
function brokerPid(directory) {
  const files = new BrokerFiles('default', directory);
  return files.readEpoch(files.highestEpoch()).pid;
}

module.exports = { brokerPid, open, openBroker };
