'use strict';

// Two copies of the package in one thread. Arguments: the entry of each, what to do.

const { setImmediate: turn } = require('node:timers/promises');

const [, , first, second, action] = process.argv;
const A = require(first);
const B = require(second);

/** Whether each class of A accepts what B makes, and B's class what A makes; and no other value. */
const CLASSES = {
  LockManager: async ({ locks }) => locks,
  Lock: ({ locks }) => locks.request('a', (lock) => lock),
  LockLostError: async ({ locks }) => {
    const lost = locks.request('a', () => new Promise(() => {})).catch((error) => error);
    await locks.request('a', { steal: true }, () => {});
    return lost;
  },
  DeadlockError: ({ locks }) =>
    locks.request('a', () =>
      locks.request('a', { deadlock: 'reject' }, () => {}).catch((error) => error),
    ),
  Mutex: async ({ Mutex }) => new Mutex('m'),
  Semaphore: async ({ Semaphore }) => new Semaphore('s', 1),
  AsyncLock: async ({ AsyncLock }) => new AsyncLock(new SharedArrayBuffer(4)),
  Scheduler: async ({ scheduler }) => scheduler,
  TaskController: async ({ TaskController }) => new TaskController(),
  TaskSignal: async ({ TaskController }) => new TaskController().signal,
  TaskPriorityChangeEvent: async ({ TaskPriorityChangeEvent }) =>
    new TaskPriorityChangeEvent('e', { previousPriority: 'background' }),
  LockError: ({ Mutex }) => {
    const mutex = new Mutex('m');
    return mutex.runExclusive(() => mutex.acquire({ blocking: false }).catch((error) => error));
  },
};

const ACTIONS = {
  exclude: () =>
    A.locks.request('a', () => B.locks.request('a', { ifAvailable: true }, (lock) => lock)),

  requestSync: () =>
    A.locks.request('a', () => {
      try {
        return B.locks.requestSync('a', { timeout: 60_000 }, () => 'granted');
      } catch (error) {
        return error.name;
      }
    }),

  /** Behind a request of the other that waits, for a lock of another thread. */
  requestSyncInQueue: async () => {
    const { Worker } = require('node:worker_threads');
    const { once } = require('node:events');
    const source = `
      const { parentPort, workerData } = require('node:worker_threads');
      require(workerData).locks.request('a', () => {
        parentPort.postMessage('held');
        return new Promise((resolve) => parentPort.once('message', resolve));
      });`;
    const worker = new Worker(source, { eval: true, workerData: first });
    await once(worker, 'message');
    const waiting = A.locks.request('a', () => {});
    while ((await A.locks.query()).pending.length === 0);
    let error;
    try {
      B.locks.requestSync('a', { timeout: 60_000 }, () => {});
    } catch (thrown) {
      error = thrown;
    }
    worker.postMessage('release');
    await waiting;
    return error.name;
  },

  /** The other has not read that its lock was stolen; a grant of this one is not read, either. */
  requestSyncBehindEvents: async () => {
    const stolen = await A.locks.acquire('a');
    const other = await A.locks.acquire('b');
    const waiting = B.locks.request('b', () => {});
    while ((await B.locks.query()).pending.length === 0);
    B.locks.requestSync('a', { steal: true }, () => {});
    other.release();
    const result = B.locks.requestSync('a', { timeout: 60_000 }, () => 'granted');
    stolen.release();
    await waiting;
    return result;
  },

  shared: () =>
    A.locks.request('a', { mode: 'shared' }, () =>
      B.locks.requestSync('a', { mode: 'shared', timeout: 60_000 }, () => 'granted'),
    ),

  /** The signals of a reentrant request, whose covering lock the other has. */
  reentrantSignals: () =>
    A.locks.request('a', { reentrant: true }, async (outer) => {
      const options = { reentrant: true, priority: 'background' };
      const isContended = outer.contended.aborted;
      return B.locks.request('a', options, ({ contended, signal }) => [
        isContended,
        contended.aborted,
        signal.priority,
      ]);
    }),

  reentrant: () =>
    A.locks.request('a', { reentrant: true }, () =>
      B.locks.request('a', { reentrant: true }, async () => {
        await turn();
        return A.locks.request('a', { reentrant: true }, () => 'granted');
      }),
    ),

  deadlock: () =>
    A.locks.request('a', () =>
      B.locks.request('a', { deadlock: 'reject' }, () => {}).catch((error) => error.name),
    ),

  manager: async () => {
    const mutex = new B.Mutex('m', { manager: A.locks });
    const isLocked = await A.locks.request('m', () => mutex.isLocked());
    return [isLocked, await mutex.runExclusive(() => 'ran'), await mutex.isLocked()];
  },

  instances: async () => {
    const result = {};
    for (const [name, make] of Object.entries(CLASSES)) {
      const [ofA, ofB] = [await make(A), await make(B)];
      const values = [Object.create(null), A[name].prototype, B[name].prototype, 1, null];
      result[name] = [
        [ofA, ofB].every((value) => value instanceof A[name] && value instanceof B[name]),
        [...values, undefined, () => {}].some((value) => value instanceof A[name]),
      ];
    }
    return result;
  },
};

process.exitCode = 1; // unless the action ends
const keepAlive = setInterval(() => {}, 1000);
ACTIONS[action]().then((value) => {
  clearInterval(keepAlive);
  process.exitCode = 0;
  console.log(JSON.stringify(value));
});
