'use strict';

// A process whose workers use one part of the package until they are ended, each at a random
// moment; reports their messages and what is left of them. One JSON argument: kind, count,
// directory, seed.

const { stat } = require('node:fs/promises');
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const { countsOf, linksOf } = require('../support/process-counts.js');
const { randomFrom } = require('../support/process-random.js');

const AT_A_TIME = 4;
const WARM_UP = 8;
/** In ms, after its start or after its first round of work. */
const LONGEST_DELAY = 40;
const LIBRARY = '../../lib/index.js';
const NAMES = 7; // few, so that the workers wait for each other

const aTurn = () => new Promise((resolve) => setImmediate(resolve));

/** Locks that are stolen, deadlocks, and requests whose time is over are no mistake. */
async function ended(promise) {
  try {
    await promise;
  } catch (error) {
    if (!['AbortError', 'DeadlockError', 'LockLostError', 'TimeoutError'].includes(error.name))
      throw error;
  }
}

/** The repeated work of a worker, one kind a worker; `i` counts. */
const KINDS = {
  'import of the package': async () => {
    const { openLockManager } = await import('../../lib/index.mjs');
    const { directory } = workerData;
    return (i) => openLockManager({ directory }).request(`import ${i % NAMES}`, () => {});
  },

  'opening and closing': () => {
    const { openLockManager } = require(LIBRARY);
    return async (i) => {
      const locks = openLockManager({ directory: workerData.directory });
      const request = locks.request(`opening ${i % NAMES}`, () => {});
      locks.isLocked('opening');
      if (i % 3 === 0) await request;
      else request.catch((error) => isClosed(error));
      locks.close();
    };
  },

  'request(), acquire(), requestAll()': () => {
    const locks = openHere();
    const options = [
      {},
      { mode: 'shared' },
      { ifAvailable: true },
      { steal: true },
      { timeout: 1 },
      { mode: 'shared', holdLimit: 1000, label: 'label', limit: 2 },
      { signal: AbortSignal.timeout(1) },
    ];
    return async (i) => {
      const name = `request ${i % NAMES}`;
      await ended(locks.request(name, options[i % options.length], aTurn));
      await ended(locks.requestAll([name, `${name} more`], () => {}));
      const handle = locks.acquire(name);
      await ended(handle.then((lock) => lock.release()));
    };
  },

  'requestSync()': () => {
    const locks = openHere();
    const timeout = 5;
    return async (i) => {
      const held = locks.request(`sync ${(i + 1) % NAMES}`, { ifAvailable: true }, aTurn);
      try {
        locks.requestSync(`sync ${i % NAMES}`, { timeout }, () => {});
      } catch (error) {
        if (!['TimeoutError', 'DeadlockError'].includes(error.name)) throw error;
      }
      await ended(held);
    };
  },

  'query(), inspect(), isLocked(), watch()': () => {
    const locks = openHere();
    return async (i) => {
      const name = `look ${i % NAMES}`;
      const events = locks.watch(i % 2 === 0 ? name : undefined);
      const next = events.next();
      const request = locks.request(name, { label: 'label' }, aTurn);
      await Promise.all([locks.query(), locks.inspect()]);
      locks.isLocked(name);
      await Promise.all([next, request]);
      await events.return();
    };
  },

  'errors of the native part': () => {
    const { openLockManager } = require(LIBRARY);
    const { directory } = workerData;
    const locks = openHere();
    const refusals = [
      [{ directory: __filename }, 'SecurityError'],
      [{ directory, capacity: 4096 }, 'TypeError'],
    ];
    return async (i) => {
      const [options, name] = refusals[i % refusals.length];
      const refused = openLockManager(options);
      await refusedWith(name, () => refused.request('a', () => {}));
      await refusedWith(name, () => refused.isLocked('a'));
      refused.close();
      // Waits for its own thread.
      await locks.request(`refused ${i % NAMES}`, ({ name: held }) =>
        refusedWith('DeadlockError', () => locks.requestSync(held, () => {})),
      );
    };
  },

  'Mutex, Semaphore, AsyncLock': () => {
    const { AsyncLock, Mutex, Semaphore } = require(LIBRARY);
    const locks = openHere();
    const semaphore = new Semaphore('semaphore', 2, { manager: locks });
    const mutexes = [new Mutex('mutex', { manager: locks }), new Mutex()];
    // Of this worker alone: the lock of an AsyncLock is not released when its thread ends.
    const asyncLock = new AsyncLock(new SharedArrayBuffer(4));
    return async () => {
      await Promise.all([...mutexes, semaphore].map((each) => each.runExclusive(aTurn)));
      await Promise.all([semaphore.runShared(aTurn), mutexes[0].waitForUnlock()]);
      await Promise.all([asyncLock.executeLocked(aTurn), asyncLock.executeLocked(() => {})]);
      asyncLock.lock();
      asyncLock.unlock();
    };
  },

  'reentrant, deadlock, runEvery(), metrics': () => {
    const { runEvery } = require(LIBRARY);
    const { LockMetrics } = require('../../lib/metrics/index.js');
    const locks = openHere();
    const metrics = new LockMetrics({ manager: locks });
    let run; // in memory: a file would be one more in the bucket
    const store = { read: () => run, write: (_name, record) => (run = record) };
    return async (i) => {
      const [name, other] = [`nested ${i % NAMES}`, `nested ${(i + 1) % NAMES}`];
      const nested = { reentrant: true, deadlock: 'reject', timeout: 30 };
      const inside = () => [name, other].map((each) => ended(locks.request(each, nested, aTurn)));
      await ended(locks.request(name, nested, () => Promise.all(inside())));
      await metrics.toPrometheus();
      const signal = AbortSignal.timeout(5);
      await ended(runEvery(name, { every: 1000, manager: locks, store, signal }, aTurn));
    };
  },

  scheduler: () => {
    const lib = require(LIBRARY);
    const { TaskController, TaskSignal, createScheduler, requestIdleCallback, scheduler } = lib;
    const priorities = ['user-blocking', 'user-visible', 'background'];
    return async (i) => {
      const priority = priorities[i % priorities.length];
      const controller = new TaskController({ priority });
      const { signal } = controller;
      const tasks = [
        scheduler.postTask(() => scheduler.yield(), { priority }),
        scheduler.postTask(() => {}, { delay: 1 }),
        scheduler.postTask(() => scheduler.yield(), { signal: TaskSignal.any([signal]) }),
        createScheduler().postTask(() => {}),
        new Promise((resolve) => requestIdleCallback(resolve, { timeout: 5 })),
      ];
      controller.setPriority(priorities[(i + 1) % priorities.length]);
      if (i % 4 === 0) controller.abort();
      await Promise.all(tasks.map(ended));
    };
  },
};

function openHere() {
  return require(LIBRARY).openLockManager({ directory: workerData.directory });
}

async function refusedWith(name, use) {
  try {
    await use();
  } catch (error) {
    if (error.name === name) return;
    throw error;
  }
  throw new Error(`nothing was refused: ${name} was expected`);
}

/** A request whose manager was closed under it. */
function isClosed(error) {
  if (!['InvalidStateError', 'AbortError', 'LockLostError'].includes(error.name)) throw error;
}

async function runWorker() {
  const work = await KINDS[workerData.kind]();
  for (let i = workerData.number; ; i += 1) {
    await work(i);
    if (i === workerData.number) parentPort.postMessage('at work');
    if (i % 8 === 0) await aTurn();
  }
}

/** Node itself leaves a module open that it was reading for import() when the thread was ended. */
function countsWithoutModules() {
  const modules = linksOf('self').filter((link) => link.endsWith('.mjs'));
  const counts = countsOf();
  return { ...counts, descriptors: counts.descriptors - modules.length };
}

function startWorker(options, delay, errors) {
  return new Promise((resolve) => {
    const worker = new Worker(__filename, { workerData: options, execArgv: [] });
    // Half of them while they load and open, the others at work, however busy the machine is.
    const moment = options.number % 2 === 0 ? 'online' : 'message';
    worker.once(moment, () => setTimeout(() => worker.terminate(), delay));
    worker.on('error', (error) => errors.push(String(error?.stack ?? error)));
    worker.on('exit', resolve);
  });
}

async function main({ kind, count, directory, seed }) {
  const random = randomFrom(seed);
  const errors = [];
  let started = 0;
  const startSome = async (until) => {
    while (started < until) {
      const options = { kind, directory, number: started++ };
      await startWorker(options, random(LONGEST_DELAY), errors);
    }
  };
  const startAll = (until) =>
    Promise.all(Array.from({ length: AT_A_TIME }, () => startSome(until)));
  await stat(__filename); // starts the threads of libuv, which stay
  await startAll(WARM_UP);
  const before = countsWithoutModules();
  await startAll(WARM_UP + count);
  process.send({ started, errors, before, after: countsWithoutModules() });
  process.disconnect();
}

module.exports = { KINDS: Object.keys(KINDS) };

if (!isMainThread) runWorker();
else if (require.main === module) main(JSON.parse(process.argv[2]));
