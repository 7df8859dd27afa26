'use strict';

const { openRelayInThread } = require('../harness/relay-in-thread.js');
const relay = require('./relay-etcd.js');

/** @param {import('./peers.js').PeerSetup} setup */
const open = (setup) => openRelayInThread('relay-etcd', setup);

module.exports = { ...relay, open };
