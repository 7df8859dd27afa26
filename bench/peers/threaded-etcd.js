'use strict';

// The bare transactions, made by a thread that is asked by messages, as a session on its own thread
// is: four messages for a lock.

const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const bare = require('./bare-etcd.js');

/** In the thread. @param {import('./peers.js').PeerSetup} setup */
async function serveMessages(setup) {
  const locks = await bare.open(setup);
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

/** @param {import('./peers.js').PeerSetup} setup */
async function open(setup) {
  const thread = new Worker(__filename, { workerData: { setup } });
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

if (!isMainThread && workerData?.setup !== undefined) void serveMessages(workerData.setup);

module.exports = { open, serve: bare.serve, whyNot: bare.whyNot };
