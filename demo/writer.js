'use strict';

// A process of the demonstration, and each of its worker threads: appends to the ledger until the
// number asked for is reached. The victim holds the lock in the middle, and waits for its end. The
// others leave the last entry until then, so that another writer is granted the lock behind the
// victim. If the locks are on a server that is started again, a writer may lose its lock, and asks
// once more.

const { Worker, isMainThread, parentPort, threadId, workerData } = require('node:worker_threads');
const { once } = require('node:events');
const { setImmediate: nextTurn } = require('node:timers/promises');
const { LockLostError, openLockManager } = require('..');
const { toLockOptions } = require('./lock-options.js');
const { Ledger, machineNs } = require('./ledger.js');

const REPORT_EVERY = 25;
const FOREVER = 2 ** 31 - 1;

/** @typedef {{ file: string, directory: string, increments: number, withLock: boolean }} Task */

/** @param {Task & { isVictim: boolean }} task */
async function write({ file, directory, increments, withLock, isVictim }) {
  const writer = `${process.pid}/${threadId}`;
  const ledger = new Ledger(file);
  const locks = openLockManager(toLockOptions(directory));
  const report = (/** @type {object} */ message) => parentPort?.postMessage({ writer, ...message });
  let written = 0;
  let mayEnd = isVictim;

  /**
   * @param {{ token: bigint, signal?: AbortSignal }} lock
   * @returns {Promise<boolean>} whether there is something left to write
   */
  const appendOne = async ({ token, signal }) => {
    const at = machineNs();
    const last = ledger.last();
    const number = (last?.number ?? 0) + 1;
    if (isVictim && number > increments / 2) {
      report({ holding: true });
      await new Promise((resolve) => setTimeout(resolve, FOREVER));
    }
    if (number > increments) return false;
    await nextTurn(); // other processes and threads may run here
    if (signal?.aborted || (number === increments && !mayEnd)) return true;
    ledger.append({ number, token, writer, at });
    written += 1;
    if (written % REPORT_EVERY === 0) report({ written, number });
    return true;
  };

  const isLost = (/** @type {unknown} */ error) => {
    if (error instanceof LockLostError && process.env.HOLDFAST_URL) return true;
    throw error;
  };
  const request = withLock
    ? () => locks.request('ledger', /** @type {any} */ (appendOne)).catch(isLost)
    : () => appendOne({ token: machineNs() });
  await locks.query(); // attaches
  report({ ready: true });
  const messages = /** @type {import('node:worker_threads').MessagePort} */ (parentPort);
  await once(messages, 'message');
  void once(messages, 'message').then(() => (mayEnd = true));
  while (await request());
  report({ written, done: true });
  parentPort?.unref(); // nothing else keeps the thread
}

/** The main thread of the process only passes messages on. */
function startThreads() {
  const { isVictim, threads, ...task } = JSON.parse(process.argv[2]);
  let running = threads;
  const workers = Array.from({ length: threads }, (_, i) => {
    const worker = new Worker(__filename, {
      workerData: { ...task, isVictim: isVictim && i === 0 },
    });
    worker.on('message', (message) => process.send?.(message));
    worker.on('exit', () => {
      running -= 1;
      // Once this is written, all that was sent before is.
      if (running === 0) process.send?.({ finished: true }, () => process.disconnect());
    });
    return worker;
  });
  process.on('message', (message) => workers.forEach((worker) => worker.postMessage(message)));
}

if (isMainThread) startThreads();
else write(workerData);
