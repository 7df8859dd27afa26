'use strict';

// holdfast in a database in which many others listen, each to another channel: a notification wakes
// them all.

const { LOOPBACK } = require('../harness/free-ports.js');
const { open, serve: serveAlone, whyNot } = require('./holdfast-postgres.js');
const { connectAt } = require('./postgresql.js');

const LISTENERS = 100;

/** @param {string} directory */
async function serve(directory) {
  await serveAlone(directory);
  for (let index = 0; index < LISTENERS; index += 1) {
    const client = await connectAt(directory, LOOPBACK);
    client.on('error', () => {}); // the server has gone
    await client.query(`LISTEN other_${index}`);
  }
}

module.exports = { LISTENERS, open, serve, whyNot };
