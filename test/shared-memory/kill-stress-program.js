'use strict';

// A process of a stress test with kills: its main thread and two workers use locks without a pause,
// in both modes, with ifAvailable and signals, until a message stops them. Requests for all names
// except the first have priorities. One JSON argument: directory, number, names, seed, backend
// (`broker`, or else shared memory). Every second process biases each lock at its first release, in
// place of the repeated names alone.

const { appendFileSync } = require('node:fs');
const { join } = require('node:path');
const { setImmediate: nextTurn } = require('node:timers/promises');
const { Worker, isMainThread, parentPort, threadId, workerData } = require('node:worker_threads');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { SharedMemoryBackend } = require('../../lib/backends/shared-memory/backend.js');
const { openLockManager } = require('../../lib/index.js');
const { PRIORITY_RANK } = require('../../lib/task-priority.js');
const { randomFrom } = require('../support/process-random.js');
const { lineOf } = require('./kill-stress-log.js');

const WORKERS = 2;
/** So many urgent ones that some of the others are overtaken as often as may be. */
const PRIORITIES = [
  'user-blocking',
  'user-blocking',
  'user-blocking',
  'user-visible',
  'background',
];

const options = isMainThread ? JSON.parse(process.argv[2]) : workerData;
const { directory, number: program, names, seed } = options;
if (program % 2 === 1) require('../support/preload/eager-bias.js');
const random = randomFrom(seed + threadId);
const locks = openLockManager({
  backend:
    options.backend === 'broker'
      ? new BrokerBackend({ directory, bucket: 'stress' })
      : new SharedMemoryBackend({ directory, bucket: 'stress', sweeps: false }),
});
const who = `${program}.${threadId}`;
let requests = 0;
let isStopped = false;

const append = (entry) => appendFileSync(join(directory, 'log'), lineOf({ who, ...entry }));

async function use(lock, about) {
  if (lock === null) return;
  const { name, mode, token } = lock;
  const log = (what) => append({ ...about, what, name, mode, token });
  log('enter');
  if (random(3) === 0) await nextTurn();
  log('leave');
}

async function makeRequest() {
  const name = names[random(names.length)];
  const mode = random(3) === 0 ? 'shared' : 'exclusive';
  const priority = name === names[0] ? undefined : PRIORITIES[random(PRIORITIES.length)];
  requests += 1;
  const about = { request: requests, rank: PRIORITY_RANK[priority ?? 'user-visible'] };
  if (random(4) === 0) {
    return locks.request(name, { mode, priority, ifAvailable: true }, (lock) => use(lock, about));
  }
  const controller = new AbortController();
  const { signal } = controller;
  const request = locks.request(name, { mode, priority, signal }, (lock) => use(lock, about));
  if (priority !== undefined) append({ ...about, what: 'wait', name, mode, token: 0n });
  if (random(4) === 0) {
    await nextTurn();
    controller.abort('aborted');
  }
  return request.catch((reason) => {
    if (reason !== 'aborted') throw reason;
  });
}

async function run() {
  while (!isStopped) {
    await Promise.all(Array.from({ length: 1 + random(3) }, makeRequest));
    await nextTurn();
  }
  locks.close();
}

if (isMainThread) {
  const workers = Array.from(
    { length: WORKERS },
    () => new Worker(__filename, { workerData: options }),
  );
  const ended = workers.map((worker) => new Promise((resolve) => worker.once('exit', resolve)));
  process.on('message', () => {
    isStopped = true;
    for (const worker of workers) worker.postMessage('stop');
  });
  process.on('disconnect', () => process.exit());
  process.send('started');
  run()
    .then(() => Promise.all(ended))
    .then(() => process.disconnect());
} else {
  parentPort.on('message', () => {
    isStopped = true;
    parentPort.close?.(); // Deno has none, and its port keeps the worker alive
  });
  run().then(() => parentPort.close ?? process.exit());
}
