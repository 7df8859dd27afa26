'use strict';

// A process whose main thread never loads the addon: starts workers that do, each in one state and
// ended in one way, and reports what is left of them. One JSON argument: libraries, directory,
// count.

const { Worker, isMainThread, parentPort, threadId, workerData } = require('node:worker_threads');
const { countsOf } = require('../support/process-counts.js');

const AT_A_TIME = 8;
const WARM_UP = 8;
const TAKEN = 'taken';
const forever = () => new Promise(() => {});

/** The work of a worker before its end; each reports when it is there. */
const STATES = {
  idle: (locks, ready) => locks.query().then(ready),
  granted: (locks, ready, own) => locks.request(own, () => (ready(), forever())),
  queued(locks, ready, own) {
    locks.request(own, forever);
    locks.request(own, () => {});
    ready();
  },
  'granted and not notified': (locks, ready, own) => {
    locks.request(own, () => {});
    ready();
    ENDINGS[workerData.how]();
  },
  'queued behind another process': (locks, ready) => {
    locks.request(TAKEN, () => {});
    ready();
  },
  'inside the callback': (locks, _ready, own) =>
    locks.request(own, () => ENDINGS[workerData.how]()),
  'inside a native wait'(locks, ready) {
    ready();
    locks.requestSync(TAKEN, () => {});
  },
};

/** The ways to end; the main thread ends those that do nothing themselves. */
const ENDINGS = {
  'terminate()': () => {},
  'process.exit()': () => process.exit(0),
  'an uncaught error': () => {
    throw new Error('on purpose');
  },
  'its natural end': () => {},
};

const hasNaturalEnd = (state) => ['idle', 'granted', 'granted and not notified'].includes(state);
const isAtItsEnd = (state) => ['inside the callback', 'granted and not notified'].includes(state);

const CASES = Object.keys(STATES).flatMap((state) =>
  Object.keys(ENDINGS)
    .filter((how) => how !== 'its natural end' || hasNaturalEnd(state))
    .filter((how) => how === 'terminate()' || state !== 'inside a native wait')
    .map((how) => ({ state, how })),
);

function runWorker() {
  const { libraries, directory, state, how } = workerData;
  const ready = () => {
    parentPort.postMessage('ready');
    if (how !== 'terminate()' && !isAtItsEnd(state)) setImmediate(ENDINGS[how]);
  };
  // Every copy of the addon in the same state.
  for (const library of libraries) {
    const { openLockManager } = require(library);
    STATES[state](openLockManager({ directory }), ready, `of ${threadId} by ${library}`);
  }
  if (isAtItsEnd(state)) parentPort.postMessage('ready');
}

function startWorker(options) {
  return new Promise((ended) => {
    const worker = new Worker(__filename, { workerData: options, stderr: true });
    worker.stderr.resume();
    worker.on('error', () => {}); // one of the ways to end
    worker.on('message', () => {
      if (options.how === 'terminate()') worker.terminate();
    });
    worker.on('exit', ended);
  });
}

async function main({ libraries, directory, count: total }) {
  let started = 0;
  const startSome = async (until) => {
    while (started < until) {
      const next = CASES[started++ % CASES.length];
      await startWorker({ libraries, directory, ...next });
    }
  };
  const startAll = (until) =>
    Promise.all(Array.from({ length: AT_A_TIME }, () => startSome(until)));
  await startAll(WARM_UP);
  const before = countsOf();
  await startAll(WARM_UP + total);
  process.send({ workers: started, before, after: countsOf() });
  process.disconnect();
}

if (isMainThread) main(JSON.parse(process.argv[2]));
else runWorker();
