'use strict';

// A process that uses the session in its worker threads, until a message stops it or it is killed.

const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const { openLockManager } = require('holdfast');
const { Client, SessionOver } = require('./client.js');
const { RemoteTokens, TokenFile } = require('./token-store.js');

/**
 * @typedef {object} Task
 * @property {string} url  of the server
 * @property {string} [file]  of the tokens; without it they are in the server's table
 * @property {string} [directory]  of the locks, unless HOLDFAST_URL says where they are
 * @property {boolean} withLock
 */

/** Grants every request at once: the program without the locks. */
const noLocks = {
  /** @param {any[]} args */
  request: async (...args) => args.at(-1)({ token: 0n, signal: undefined }),
};

/** @param {Task} task */
async function use({ url, file, directory, withLock }) {
  const place = process.env.HOLDFAST_URL ? {} : { directory };
  const locks = withLock ? openLockManager({ bucket: 'session', ...place }) : noLocks;
  const store = file === undefined ? new RemoteTokens(url) : new TokenFile(file);
  const client = new Client(url, store, locks);
  let isStopped = false;
  parentPort?.once('message', () => (isStopped = true));
  try {
    await client.call();
    parentPort?.postMessage({ isUsing: true });
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
  process.on('SIGINT', () => {}); // of a terminal: the one who started this says when to stop
  process.on('disconnect', () => process.exit());
  process.on('message', () => workers.forEach((worker) => worker.postMessage('stop')));
}

if (isMainThread) startThreads();
else use(workerData);
