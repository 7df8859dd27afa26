'use strict';

const { setTimeout: pause } = require('node:timers/promises');
const { lengthOf } = require('../support/lengths.js');
const { findViolations, linesOfLog } = require('../support/process-actor-work.js');
const { ProcessBucket, untilEqual } = require('../support/process-bucket.js');
const { randomFrom } = require('../support/process-random.js');

// Processes that request, abort and release without a pause, and are killed wherever they are: some
// inside the lock table. HOLDFAST_SEED=<seed> repeats the draws; HOLDFAST_KILLS=<count> makes it
// longer (`npm test -- soak`).
const SEED = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const KILLS = lengthOf('HOLDFAST_KILLS', { whole: 15, part: 6 });
const WORKERS = 4;
const NAMES = ['a', 'b', 'c'];
const LATEST_KILL_MS = 8;
const MS_PER_KILL = 5000; // a watchdog

const random = randomFrom(SEED);
const killed = new Set();

let bucket;
beforeAll(() => {
  bucket = new ProcessBucket();
});
afterAll(() => bucket.close());

async function openWorker() {
  const worker = await bucket.open('process');
  await worker.command('startWork', { seed: random(2 ** 31), names: NAMES });
  return worker;
}

/** Resolves when each worker has made progress since now. */
async function allGoOn(workers) {
  for (const worker of workers) {
    const before = await worker.command('stepsOfWork');
    await untilEqual(async () => (await worker.command('stepsOfWork')) > before, true);
  }
}

async function killAgainAndAgain() {
  const workers = await Promise.all(Array.from({ length: WORKERS }, openWorker));
  for (let kills = 0; kills < KILLS; kills += 1) {
    await allGoOn(workers);
    await pause(random(LATEST_KILL_MS)); // the moment is what is drawn
    const index = random(WORKERS);
    killed.add(String(workers[index].pid));
    workers[index].endBy('SIGKILL');
    await workers[index].ended;
    workers[index] = await openWorker();
  }
  await allGoOn(workers);
  await Promise.all(workers.map((worker) => worker.command('stopWork')));
  await untilEqual(() => bucket.locks.query(), { held: [], pending: [] });

  expect(await findViolations(linesOfLog(bucket.directory), killed)).toEqual([]);
}

test(
  `no request is stuck, and no two holders overlap (HOLDFAST_SEED=${SEED})`,
  killAgainAndAgain,
  60_000 + KILLS * MS_PER_KILL,
);

test('the log of two holders at once is a violation', async () => {
  const log = ['1 enter a 1', '2 enter a 2', '1 leave a 1', '2 leave a 2'];
  const violations = ['2 enter a 2', '1 leave a 1', '2 leave a 2'];
  expect(await findViolations(log, new Set())).toEqual(violations);
});

test('a log without any holder is a violation', async () => {
  expect(await findViolations([], new Set())).toEqual(['no holder was inside']);
});
