'use strict';

// A job of four workers of node:cluster, which are killed in the middle of its runs.

const cluster = require('node:cluster');
const { once } = require('node:events');
const { mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { setTimeout: pause } = require('node:timers/promises');
const { openLockManager } = require('../../lib/index.js');
const { randomFrom } = require('../support/process-random.js');

const PROGRAM = path.join(__dirname, 'run-every-program.js');
const HOUR = 3_600_000;
/** Between two runs of the stress test: a watchdog, after which the state is printed. */
const STANDSTILL_MS = 30_000;

let directory;
let log;
let workers;
let crashes;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'holdfast-runs-'));
  log = path.join(directory, 'log');
  writeFileSync(log, '');
  workers = new Set();
  crashes = [];
});
afterEach(async () => {
  await Promise.all([...workers].map(kill));
  rmSync(directory, { recursive: true });
  expect(crashes).toEqual([]);
});

function kill(worker) {
  const hasEnded = once(worker, 'exit');
  worker.process.kill('SIGKILL');
  return hasEnded;
}

function start(task) {
  cluster.setupPrimary({ exec: PROGRAM });
  const worker = cluster.fork({ HOLDFAST_TASK: JSON.stringify({ directory, log, ...task }) });
  workers.add(worker);
  worker.on('exit', (code, signal) => {
    workers.delete(worker);
    if (code !== 0 && signal !== 'SIGKILL') crashes.push(worker.process.pid);
  });
  return worker;
}

/** The next message of a worker that has this member. */
function whenReported(worker, member) {
  return new Promise((resolve) => {
    worker.on('message', (message) => {
      if (member in message) resolve(message[member]);
    });
  });
}

/** @returns {{ pid: number, due: number, step: 'start' | 'end', token: bigint }[]} */
const readLog = () =>
  readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(' '))
    .map(([pid, due, step, token]) => ({ pid: +pid, due: +due, step, token: BigInt(token) }));

/** The log, as soon as it has a line. */
async function firstLine() {
  while (readLog().length === 0) await pause(5);
  return readLog();
}

/** Waits until `count` workers hold or wait for the lock of the job. */
async function queueOf(count) {
  const locks = openLockManager({ directory });
  try {
    for (;;) {
      const { held, pending } = await locks.inspect();
      if (held.length + pending.length === count)
        return [...held, ...pending].map(({ pid }) => pid);
      await pause(5);
    }
  } finally {
    locks.close();
  }
}

/**
 * Four workers, in the order of the queue, and a run that is due for half an hour.
 * @param {object} options  of runEvery()
 */
async function startDue(options) {
  const now = Date.now();
  const offset = (now % HOUR) - HOUR / 2;
  const store = path.join(directory, 'job.run');
  writeFileSync(store, `${Math.floor((now - offset) / HOUR) - 1}\n`);
  const team = [];
  for (let count = 1; count <= 4; count += 1) {
    team.push(start({ every: HOUR, offset, store, holds: true, ...options }));
    await queueOf(count);
  }
  return team;
}

test('a run whose process dies in the middle is made again by the next, until one has made it', async () => {
  const [first, second, third, fourth] = await startDue({});
  const startOf = (worker) => whenReported(worker, 'started');
  const [repeated, finished] = [startOf(second), startOf(third)];
  const [{ due, pid }] = await firstLine();
  expect(pid).toBe(first.process.pid);

  await kill(first);
  expect(await repeated).toBe(due);
  await kill(second);
  expect(await finished).toBe(due);
  third.send('go');
  const stopped = whenReported(third, 'stopped');
  third.send('stop');
  expect(await stopped).toBe(1);

  expect(await queueOf(1)).toEqual([fourth.process.pid]);
  const runsOfFourth = whenReported(fourth, 'stopped');
  fourth.send('stop');
  expect(await runsOfFourth).toBe(0);
  expect(readLog().map(({ step }) => step)).toEqual(['start', 'start', 'start', 'end']);
});

test('delivery: at-most-once: a run whose process dies in the middle is not made again', async () => {
  const [first, second, ...others] = await startDue({ delivery: 'at-most-once' });
  await firstLine();
  await kill(first);
  expect((await queueOf(3))[0]).toBe(second.process.pid);
  for (const worker of [second, ...others]) {
    const runs = whenReported(worker, 'stopped');
    worker.send('stop');
    expect(await runs).toBe(0);
  }
  expect(readLog()).toHaveLength(1);
});

/** The states of the workers, the lock table and the log. */
async function describeState() {
  const locks = openLockManager({ directory });
  const { held, pending } = await locks.inspect();
  locks.close();
  const processes = [...workers].map(({ process: { pid } }) => {
    const [, state] = /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    return `${pid} ${state} ${readFileSync(`/proc/${pid}/wchan`, 'utf8')}`;
  });
  const facts = { now: Date.now(), processes, held, pending, log: readLog().slice(-5) };
  return JSON.stringify(facts, (_key, value) =>
    typeof value === 'bigint' ? String(value) : value,
  );
}

/** Fails when nothing happens for long. */
class Standstill {
  #timer;
  #fail;
  found = new Promise((_resolve, reject) => {
    this.#fail = () =>
      describeState().then((state) => reject(new Error(`no run any more: ${state}`)), reject);
  });

  goOn() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#fail, STANDSTILL_MS);
  }

  end() {
    clearTimeout(this.#timer);
  }
}

describe.each(['at-least-once', 'at-most-once'])('%s, in a stress test', (delivery) => {
  test('no two runs overlap, and none is repeated except the run of a killed process', async () => {
    const KILLS = 8;
    const seed = Number(process.env.HOLDFAST_SEED ?? Date.now() % 2 ** 31);
    console.log(`HOLDFAST_SEED=${seed}`);
    const random = randomFrom(seed);
    const killed = new Set();
    let enough;
    const isDone = new Promise((resolve) => (enough = resolve));
    const standstill = new Standstill();
    standstill.goOn();
    const run = () => {
      const worker = start({ every: 10, delivery, holds: false });
      let isKilled = false; // what it has said before comes later
      worker.on('message', async ({ started }) => {
        standstill.goOn();
        if (started === undefined || isKilled || random(3) > 0 || killed.size >= KILLS) return;
        isKilled = true;
        killed.add(worker.process.pid);
        await kill(worker);
        if (killed.size === KILLS) enough();
        else run();
      });
    };
    for (let count = 0; count < 4; count += 1) run();
    await Promise.race([isDone, standstill.found]);
    standstill.end();
    for (const { process: worker } of workers) killed.add(worker.pid);
    await Promise.all([...workers].map(kill));

    const lines = readLog();
    const starts = lines.filter(({ step }) => step === 'start');
    expect(starts.length).toBeGreaterThan(KILLS);
    for (const [index, { pid, due, token }] of starts.entries()) {
      const next = starts[index + 1];
      if (next === undefined) break;
      expect(next.token).toBeGreaterThanOrEqual(token);
      const ending = lines.find(
        (line) => line.step === 'end' && line.pid === pid && line.due === due,
      );
      // A run without an end belongs to a killed process: the next run begins after its death.
      if (ending !== undefined) {
        expect(lines.indexOf(ending)).toBeLessThan(lines.indexOf(next));
      } else {
        expect(killed.has(pid)).toBe(true);
      }
      const isRepeated = next.due === due;
      expect(next.due).toBeGreaterThanOrEqual(due);
      if (isRepeated) expect([delivery, killed.has(pid)]).toEqual(['at-least-once', true]);
    }
  });
});
