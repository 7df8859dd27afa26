'use strict';

// No lock at all: a turn that the parties pass round, each by one write of the key that the next
// one watches. There are no requests and no comparisons, and nothing survives a death. The least
// cost of a hand-over that a cluster decides and a client in Node receives.

const { loadServices } = require('../../lib/backends/etcd/grpc-library.js');
const { bytes, put } = require('../../lib/backends/etcd/transaction.js');
const { endpointsIn, serveEtcd, whyNoEtcd } = require('./etcd-server.js');

/** @param {number} party */
const keyOf = (party) => `relay/${party}`;

/** @param {import('./peers.js').PeerSetup} setup */
async function open({ directory, party, parties }) {
  const { grpc, services } = loadServices();
  const [endpoint] = endpointsIn(directory);
  const credentials = grpc.credentials.createInsecure();
  const kv = new services.KV(endpoint, credentials);
  const watcher = new services.Watch(endpoint, credentials, { channelOverride: kv.getChannel() });
  let turns = party === 0 ? 1 : 0;
  /** @type {((value?: undefined) => void)[]} */
  const waiting = [];
  const onTurn = () => {
    turns += 1;
    waiting.shift()?.();
  };
  const stream = watcher.Watch();
  stream.on('error', () => {}); // it was cancelled
  const isReady = new Promise((resolve) => {
    stream.on('data', ({ created, events }) => {
      if (created) resolve(undefined);
      else events.forEach(onTurn);
    });
  });
  stream.write({ create_request: { key: bytes(keyOf(party)), watch_id: '1' } });
  await isReady;
  const pass = () =>
    new Promise((resolve, reject) => {
      const change = { success: [put(keyOf((party + 1) % parties), '', '0')] };
      kv.Txn(change, (error) => (error ? reject(error) : resolve(undefined)));
    });
  const run = async (section) => {
    if (turns === 0) await new Promise((resolve) => waiting.push(resolve));
    turns -= 1;
    await section();
    await pass();
  };
  const close = () => {
    stream.cancel();
    kv.close();
  };
  return { run, close };
}

module.exports = { open, passesTurns: true, serve: serveEtcd, whyNot: whyNoEtcd };
