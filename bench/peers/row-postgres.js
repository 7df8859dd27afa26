'use strict';

// Two functions in place of a lock, which insert a row and delete it. The table has the columns and
// indexes of the requests, and no rule. The least cost of a lock whose holder others can read.

const { LOOPBACK } = require('../harness/free-ports.js');
const { connectAt, serve: serveAny, whyNot } = require('./postgresql.js');

const SCHEMA = `
  CREATE UNLOGGED TABLE rows (
    key text COLLATE "C" NOT NULL, ticket bigint NOT NULL, session int NOT NULL,
    number int NOT NULL, state "char" NOT NULL, details text NOT NULL,
    entered timestamptz NOT NULL DEFAULT clock_timestamp(), PRIMARY KEY (session, number)
  ) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off
  );
  CREATE INDEX ON rows (key, ticket);
  CREATE SEQUENCE counter;
  CREATE FUNCTION put(in_key text, own int, in_number int, in_details text) RETURNS text
  LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO rows VALUES (in_key, nextval('counter'), own, in_number, 'h', in_details);
    RETURN 'g';
  END $$;
  CREATE FUNCTION take(own int, in_number int) RETURNS text LANGUAGE plpgsql AS $$ BEGIN
    DELETE FROM rows r WHERE r.session = own AND r.number = in_number;
    RETURN NULL;
  END $$`;

const SETTINGS = `
  SET synchronous_commit TO off; SET enable_seqscan TO off; SET enable_bitmapscan TO off;
  SET plan_cache_mode TO force_generic_plan; SET jit TO off`;

/** @param {string} directory */
async function serve(directory) {
  await serveAny(directory);
  const client = await connectAt(directory, LOOPBACK);
  await client.query(SCHEMA);
  await client.end();
}

/** @param {import('./peers.js').PeerSetup} setup */
async function open({ directory, name, party }) {
  const client = await connectAt(directory, LOOPBACK);
  await client.query(SETTINGS);
  const put = { name: 'put', text: 'SELECT put($1, $2, $3, $4)', rowMode: 'array' };
  const take = { name: 'take', text: 'SELECT take($1, $2)', rowMode: 'array' };
  let number = 0;
  const run = async (section) => {
    number += 1;
    const own = [party, number];
    await client.query({ ...put, values: [name, ...own, '[1700000000000,"","",null,null]'] });
    try {
      return await section();
    } finally {
      await client.query({ ...take, values: own });
    }
  };
  return { run, close: () => client.end() };
}

module.exports = { SETTINGS, open, serve, whyNot };
