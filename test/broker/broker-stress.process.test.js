'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { createReadStream, mkdtempSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { createInterface } = require('node:readline');
const { setTimeout: pause } = require('node:timers/promises');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const {
  killBroker,
  removeLocks,
  sendSignal,
  signalBroker,
} = require('../support/broker-process.js');
const { lengthOf } = require('../support/lengths.js');
const { randomFrom } = require('../support/process-random.js');
const { StressChecker } = require('../shared-memory/kill-stress-log.js');

// Processes of three threads each and their broker, killed, stopped and resumed at random moments:
// brokers also twice in a row, while they recover, and while clients are stopped. On systems
// without stop signals, the processes are killed alone. HOLDFAST_RUNTIMES (`npm test -- runtimes`)
// runs them on several runtimes in turn. HOLDFAST_SEED=<seed> repeats the draws;
// HOLDFAST_STRESS_KILLS, HOLDFAST_STRESS_PROCESSES and HOLDFAST_STRESS_GRANTS make it longer and
// larger (`npm test -- broker`).
const SEED = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const KILLS = lengthOf('HOLDFAST_STRESS_KILLS', { whole: 10, part: 7 });
const GRANTS = Number(process.env.HOLDFAST_STRESS_GRANTS ?? 0);
const PROCESSES = Number(process.env.HOLDFAST_STRESS_PROCESSES ?? 2);
const ITSELF = {
  command: process.execPath,
  args: process.versions.deno === undefined ? [] : ['run', '-A'],
};
/** @type {{ command: string, args: string[] }[]} */
const RUNTIMES = Object.values(JSON.parse(process.env.HOLDFAST_RUNTIMES ?? 'null') ?? [ITSELF]);
const NAMES = ['a', 'b', 'c'];
const PROGRAM = join(__dirname, '../shared-memory/kill-stress-program.js');
const LATEST_MS = 15;
const LATEST_AFTER_BROKER_MS = 400;
const MS_PER_KILL = 5000; // a watchdog

const random = randomFrom(SEED);
/** The numbers of the programs. */
const numbers = new Map();
const killed = new Set();
const running = new Set();
let brokersKilled = 0;
let directory;
let files;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
  files = new BrokerFiles('stress', directory);
});
afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
  removeLocks(files);
});

async function start() {
  const number = numbers.size;
  const options = { directory, number, names: NAMES, seed: random(2 ** 30), backend: 'broker' };
  const { command, args } = RUNTIMES[number % RUNTIMES.length];
  const child = fork(PROGRAM, [JSON.stringify(options)], { execPath: command, execArgv: args });
  numbers.set(child, number);
  running.add(child);
  const ended = once(child, 'exit').then(() => running.delete(child));
  await Promise.race([once(child, 'message'), ended]);
  expect(running).toContain(child);
  return child;
}

function killOneBroker() {
  brokersKilled += 1;
  killBroker(files);
}

async function killClient(children) {
  const index = random(PROCESSES);
  const victim = children[index];
  killed.add(String(numbers.get(victim)));
  victim.kill('SIGKILL');
  await once(victim, 'exit');
  children[index] = await start();
}

/** One draw: who is stopped, who is killed, and when. */
async function strike(children) {
  const stopped = random(3) === 0 ? children[random(PROCESSES)] : undefined;
  const isBrokerStopped = random(6) === 0;
  if (stopped !== undefined) sendSignal(stopped, 'SIGSTOP', files.platform);
  if (isBrokerStopped) signalBroker(files, 'SIGSTOP');
  await pause(random(LATEST_MS)); // the moment is what is drawn
  if (isBrokerStopped && random(2) === 0) signalBroker(files, 'SIGCONT');
  const kinds = random(4);
  if (kinds > 0) killOneBroker();
  if (kinds === 3) {
    await pause(random(LATEST_AFTER_BROKER_MS)); // in its start, in its recovery, or after it
    killOneBroker();
  }
  if (kinds < 2) await killClient(children);
  signalBroker(files, 'SIGCONT');
  if (stopped !== undefined) sendSignal(stopped, 'SIGCONT', files.platform);
}

/** Resolves when the process has ended, which it does once all its requests are settled. */
async function stop(child) {
  const ended = once(child, 'exit');
  child.send('stop');
  expect(await ended).toEqual([0, null]);
}

async function check() {
  const checker = new StressChecker(killed);
  const lines = createInterface({
    input: createReadStream(join(directory, 'log'), { flags: 'a+' }),
  });
  for await (const line of lines) checker.read(line);
  return checker;
}

test(
  `no two holders overlap, and no request is overtaken or forgotten (HOLDFAST_SEED=${SEED})`,
  async () => {
    const witness = await start();
    const children = await Promise.all(Array.from({ length: PROCESSES }, start));
    for (let strikes = 0; killed.size + brokersKilled < KILLS; strikes += 1) {
      await strike(children);
      if (strikes % 8 === 7) await pause(random(500)); // a time in which they get on
    }
    for (let grants = 0; grants < GRANTS; { grants } = await check()) await pause(5000);
    await Promise.all(children.map(stop));
    await stop(witness);
    const { violations, grants } = await check();
    console.log(`${killed.size} clients and ${brokersKilled} brokers killed, ${grants} grants`);
    expect(violations).toEqual([]);
    expect(grants).toBeGreaterThan(KILLS);
  },
  60_000 + KILLS * MS_PER_KILL + GRANTS,
);
