'use strict';

// The bare calls, made by a separate thread.

const { openInThread } = require('../harness/in-thread.js');
const { serve, whyNot } = require('./bare-postgres.js');

/** @param {import('./peers.js').PeerSetup} setup */
const open = (setup) => openInThread('bare-postgres', setup);

module.exports = { open, serve, whyNot };
