'use strict';

const { openRelayInThread } = require('../harness/relay-in-thread.js');
const relay = require('./relay-postgres.js');

/** @param {import('./peers.js').PeerSetup} setup */
const open = (setup) => openRelayInThread('relay-postgres', setup);

module.exports = { ...relay, open };
