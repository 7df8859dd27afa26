'use strict';

// A row inserted and deleted, by a separate thread.

const { openInThread } = require('../harness/in-thread.js');
const { serve, whyNot } = require('./row-postgres.js');

/** @param {import('./peers.js').PeerSetup} setup */
const open = (setup) => openInThread('row-postgres', setup);

module.exports = { open, serve, whyNot };
