'use strict';

// A turn passed on by a row and a notification, by a separate thread.

const { openRelayInThread } = require('../harness/relay-in-thread.js');
const relay = require('./row-relay-postgres.js');

/** @param {import('./peers.js').PeerSetup} setup */
const open = (setup) => openRelayInThread('row-relay-postgres', setup);

module.exports = { ...relay, open };
