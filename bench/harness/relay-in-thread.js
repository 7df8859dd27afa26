'use strict';

// A peer that passes a turn round, with its client in a separate thread, as a session's is. One
// message to pass the turn on, one to receive it.

const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const { loadPeer } = require('../peers/peers.js');

/** In the thread. @param {{ peer: string, setup: import('../peers/peers.js').PeerSetup }} data */
async function serveMessages({ peer, setup }) {
  const turn = await loadPeer(peer).open(setup);
  let leave;
  parentPort.on('message', () => leave());
  parentPort.postMessage('ready');
  for (;;) {
    await turn.run(() => {
      parentPort.postMessage('turn');
      return new Promise((resolve) => (leave = () => resolve(undefined)));
    });
  }
}

/**
 * @param {string} peer
 * @param {import('../peers/peers.js').PeerSetup} setup
 */
async function openRelayInThread(peer, setup) {
  const thread = new Worker(__filename, { workerData: { relay: { peer, setup } } });
  let turns = -1; // the first message says that it is ready
  let take = () => {};
  thread.on('message', () => {
    turns += 1;
    take();
  });
  const next = () =>
    new Promise((resolve) => {
      take = () => resolve(undefined);
    });
  while (turns < 0) await next();
  const run = async (section) => {
    while (turns === 0) await next();
    turns -= 1;
    await section();
    thread.postMessage('pass');
  };
  return { run, close: () => void thread.terminate() };
}

if (!isMainThread && workerData?.relay !== undefined) void serveMessages(workerData.relay);

module.exports = { openRelayInThread };
