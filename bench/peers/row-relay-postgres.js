'use strict';

// A turn that the parties pass round, each by one call. The call deletes the row of its turn, makes
// the next waiting row the held one, inserts a waiting row and notifies the next party. The table
// has the columns and indexes of the requests, and no rule. The least cost of a hand-over that
// NOTIFY reports, and whose holder and queue others can read.

const { LOOPBACK } = require('../harness/free-ports.js');
const { connectAt, whyNot } = require('./postgresql.js');
const { SETTINGS, serve: serveRows } = require('./row-postgres.js');

const DETAILS = '[1700000000000,"","",null,null]';

/** Of a function in PL/pgSQL. */
const HAND_ON = `
    PERFORM wait(in_key, own, in_number + 1, in_details);
    DELETE FROM rows r WHERE r.session = own AND r.number = in_number;
    UPDATE rows r SET state = 'h' WHERE r.session = next AND r.state = 'w';`;

const SCHEMA = `
  CREATE FUNCTION wait(in_key text, own int, in_number int, in_details text) RETURNS bigint
  LANGUAGE plpgsql AS $$
  DECLARE
    own_ticket bigint := nextval('counter');
  BEGIN
    INSERT INTO rows VALUES (in_key, own_ticket, own, in_number, 'w', in_details);
    RETURN own_ticket;
  END $$;
  CREATE FUNCTION pass(in_key text, own int, in_number int, in_details text, next int) RETURNS text
  LANGUAGE plpgsql AS $$
  BEGIN
    ${HAND_ON}
    PERFORM pg_notify('turn_' || next, '');
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
  const client = await connectAt(directory, LOOPBACK);
  const wait = { name: 'wait', text: 'SELECT wait($1, $2, $3, $4)', rowMode: 'array' };
  const pass = { name: 'pass', text: 'SELECT pass($1, $2, $3, $4, $5)', rowMode: 'array' };
  let number = 1;
  let turns = party === 0 ? 1 : 0;
  /** @type {((value?: undefined) => void)[]} */
  const waiting = [];
  client.on('notification', () => {
    turns += 1;
    waiting.shift()?.();
  });
  await client.query(`${SETTINGS}; LISTEN turn_${party}`);
  await client.query({ ...wait, values: [name, party, number, DETAILS] });
  const run = async (section) => {
    if (turns === 0) await new Promise((resolve) => waiting.push(resolve));
    turns -= 1;
    await section();
    const next = (party + 1) % parties;
    const passed = client.query({ ...pass, values: [name, party, number, DETAILS, next] });
    number += 1;
    await passed;
  };
  return { run, close: () => client.end() };
}

module.exports = { DETAILS, HAND_ON, open, passesTurns: true, serve, whyNot };
