'use strict';

const { LOOPBACK } = require('../harness/free-ports.js');
const { instances, openAt, serve, whyNot } = require('./postgresql.js');

/** @param {import('./peers.js').PeerSetup} setup */
const open = ({ directory }) => openAt(directory, LOOPBACK);

module.exports = { instances, open, serve, whyNot };
