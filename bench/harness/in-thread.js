'use strict';

// A peer in a thread that is asked by messages, as a session on its own thread is: four messages
// for a lock.

const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const { loadPeer } = require('../peers/peers.js');

/** In the thread. @param {{ peer: string, setup: import('../peers/peers.js').PeerSetup }} data */
async function serveMessages({ peer, setup }) {
  const locks = await loadPeer(peer).open(setup);
  let leave;
  const section = () => {
    parentPort.postMessage('granted');
    return new Promise((resolve) => (leave = resolve));
  };
  parentPort.on('message', async (message) => {
    if (message !== 'ask') {
      leave();
      return;
    }
    await locks.run(section);
    parentPort.postMessage('ended');
  });
  parentPort.postMessage('ready');
}

/**
 * @param {string} peer
 * @param {import('../peers/peers.js').PeerSetup} setup
 */
async function openInThread(peer, setup) {
  const thread = new Worker(__filename, { workerData: { inThread: { peer, setup } } });
  const next = () => new Promise((resolve) => thread.once('message', resolve));
  await next();
  const turn = (message) => {
    const answer = next();
    thread.postMessage(message);
    return answer;
  };
  const run = async (section) => {
    await turn('ask');
    await section();
    await turn('end');
  };
  return { run, close: () => void thread.terminate() };
}

if (!isMainThread && workerData?.inThread !== undefined) void serveMessages(workerData.inThread);

module.exports = { openInThread };
