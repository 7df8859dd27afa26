'use strict';

// A turn passed on by a row and an advisory lock, by a separate thread.

const { openRelayInThread } = require('../harness/relay-in-thread.js');
const relay = require('./row-lock-relay-postgres.js');

/** @param {import('./peers.js').PeerSetup} setup */
const open = (setup) => openRelayInThread('row-lock-relay-postgres', setup);

module.exports = { ...relay, open };
