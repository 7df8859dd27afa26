'use strict';

// A process that uses the session in its worker threads, until it is told to stop or is killed.

const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const { openLockManager } = require('holdfast');
const { Client, SessionOver, TokenFile } = require('./client.js');

/** @typedef {{ url: string, file: string, directory: string, withLock: boolean }} Task */

/** Lets everybody in at once: what the program would be without the locks. */
const noLocks = {
  /** @param {any[]} args */
  request: async (...args) => args.at(-1)(),
};

/** @param {Task} task */
async function use({ url, file, directory, withLock }) {
  const locks = withLock ? openLockManager({ directory, bucket: 'session' }) : noLocks;
  const client = new Client(url, new TokenFile(file), locks);
  let isStopped = false;
  parentPort?.once('message', () => (isStopped = true));
  try {
    while (!isStopped) await client.call();
  } catch (error) {
    if (!(error instanceof SessionOver)) throw error;
    parentPort?.postMessage({ loggedOut: error.message });
  }
  parentPort?.unref(); // nothing else keeps the thread
}

function startThreads() {
  const { threads, ...task } = JSON.parse(process.argv[2]);
  let running = threads;
  const workers = Array.from({ length: threads }, () => {
    const worker = new Worker(__filename, { workerData: task });
    worker.on('message', (message) => process.send?.(message));
    worker.on('exit', () => {
      running -= 1;
      if (running === 0) process.disconnect();
    });
    return worker;
  });
  process.on('message', () => workers.forEach((worker) => worker.postMessage('stop')));
}

if (isMainThread) startThreads();
else use(workerData);
