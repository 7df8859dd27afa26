'use strict';

// No lock at all: a turn that the parties pass round, each by one notification of the next one.
// There are no requests, and nothing survives a death. The least cost of a hand-over that NOTIFY
// reports to a client in Node.

const { LOOPBACK } = require('../harness/free-ports.js');
const { connectAt, serve, whyNot } = require('./postgresql.js');

/** @param {import('./peers.js').PeerSetup} setup */
async function open({ directory, party, parties }) {
  const client = await connectAt(directory, LOOPBACK);
  const notify = { name: 'notify', text: "SELECT pg_notify($1, '')", rowMode: 'array' };
  let turns = party === 0 ? 1 : 0;
  /** @type {((value?: undefined) => void)[]} */
  const waiting = [];
  client.on('notification', () => {
    turns += 1;
    waiting.shift()?.();
  });
  await client.query(`SET synchronous_commit TO off; LISTEN turn_${party}`);
  const run = async (section) => {
    if (turns === 0) await new Promise((resolve) => waiting.push(resolve));
    turns -= 1;
    await section();
    await client.query({ ...notify, values: [`turn_${(party + 1) % parties}`] });
  };
  return { run, close: () => client.end() };
}

module.exports = { open, passesTurns: true, serve, whyNot };
