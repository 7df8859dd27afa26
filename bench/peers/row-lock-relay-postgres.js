'use strict';

// As `row-relay-postgres.js`, but the next party waits on a second connection for an advisory lock
// of the party before it, in place of a notification. Each pass has its own lock, which is freed
// when its call has become visible.

const { setTimeout: pause } = require('node:timers/promises');
const { LOOPBACK } = require('../harness/free-ports.js');
const { connectAt, whyNot } = require('./postgresql.js');
const { SETTINGS } = require('./row-postgres.js');
const { DETAILS, HAND_ON, serve: serveRows } = require('./row-relay-postgres.js');

const SCHEMA = `
  CREATE FUNCTION pass_lock(in_key text, own int, in_number int, in_details text, next int)
  RETURNS text LANGUAGE plpgsql AS $$
  BEGIN
    ${HAND_ON}
    PERFORM pg_advisory_lock(own, in_number + 1), pg_advisory_xact_lock(own, in_number),
      pg_advisory_unlock(own, in_number);
    RETURN NULL;
  END $$`;

/** @param {string} directory */
async function serve(directory) {
  await serveRows(directory);
  const client = await connectAt(directory, LOOPBACK);
  await client.query(SCHEMA);
  await client.end();
}

/** @param {import('./peers.js').PeerSetup} setup */
async function open({ directory, name, party, parties }) {
  const [client, waiter] = await Promise.all([1, 2].map(() => connectAt(directory, LOOPBACK)));
  const wait = { name: 'wait', text: 'SELECT wait($1, $2, $3, $4)', rowMode: 'array' };
  const pass = { name: 'pass', text: 'SELECT pass_lock($1, $2, $3, $4, $5)', rowMode: 'array' };
  const turn = {
    name: 'turn',
    text: 'SELECT pg_advisory_lock_shared($1, $2), pg_advisory_unlock_shared($1, $2)',
    rowMode: 'array',
  };
  let number = 1;
  const before = (party + parties - 1) % parties;
  await client.query(SETTINGS);
  await client.query('SELECT pg_advisory_lock($1, $2)', [party, number]);
  await client.query({ ...wait, values: [name, party, number, DETAILS] });
  // A lock that its party has not taken yet would pass a turn that there is not.
  const untilAllAreThere = async () => {
    const text = 'SELECT count(DISTINCT session)::int FROM rows';
    while ((await client.query({ text, rowMode: 'array' })).rows[0][0] < parties) await pause(5);
  };
  let areAllThere;
  const run = async (section) => {
    await (areAllThere ??= untilAllAreThere());
    // The first party begins: its first turn needs no pass.
    const passes = party === 0 ? number - 1 : number;
    if (passes > 0) await waiter.query({ ...turn, values: [before, passes] });
    await section();
    const next = (party + 1) % parties;
    const passed = client.query({ ...pass, values: [name, party, number, DETAILS, next] });
    number += 1;
    await passed;
  };
  return { run, close: () => Promise.all([client.end(), waiter.end()]) };
}

module.exports = { open, passesTurns: true, serve, whyNot };
