'use strict';

// The bare transactions, made by a separate thread.

const { openInThread } = require('../harness/in-thread.js');
const { serve, whyNot } = require('./bare-etcd.js');

/** @param {import('./peers.js').PeerSetup} setup */
const open = (setup) => openInThread('bare-etcd', setup);

module.exports = { open, serve, whyNot };
