'use strict';

// Two calls of a function that does nothing, in place of a lock. The least cost of a lock that a
// function of the server decides, and a client in Node receives.

const { LOOPBACK } = require('../harness/free-ports.js');
const { connectAt, serve: serveAny, whyNot } = require('./postgresql.js');

const FUNCTION = `
  CREATE FUNCTION bare(name text, session int, number bigint) RETURNS text LANGUAGE plpgsql AS
  $$ BEGIN RETURN 'g'; END $$`;

/** @param {string} directory */
async function serve(directory) {
  await serveAny(directory);
  const client = await connectAt(directory, LOOPBACK);
  await client.query(FUNCTION);
  await client.end();
}

/** @param {import('./peers.js').PeerSetup} setup */
async function open({ directory, name }) {
  const client = await connectAt(directory, LOOPBACK);
  const query = { name: 'bare', text: 'SELECT bare($1, $2, $3)', rowMode: 'array' };
  let number = 0;
  const call = () => client.query({ ...query, values: [name, 1, (number += 1)] });
  const run = async (section) => {
    await call();
    try {
      return await section();
    } finally {
      await call();
    }
  };
  return { run, close: () => client.end() };
}

module.exports = { open, serve, whyNot };
