'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { chmodSync, createReadStream, mkdtempSync, rmSync } = require('node:fs');
const { readFileSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { createInterface } = require('node:readline');
const { setTimeout: pause } = require('node:timers/promises');
const { Intruder } = require('../support/intruder.js');
const { lengthOf } = require('../support/lengths.js');
const { MEMBERS, STRANGER, as, describeMembers, makeShared } = require('../support/members.js');
const { untilEqual } = require('../support/process-bucket.js');
const { countsOf, descriptorsOf } = require('../support/process-counts.js');
const { randomFrom } = require('../support/process-random.js');
const { StressChecker, lineOf } = require('./kill-stress-log.js');

// Processes of three threads each, killed, stopped and resumed at random moments, without the
// sweep.
// HOLDFAST_SEED=<seed> repeats the draws; HOLDFAST_STRESS_KILLS=<count> and
// HOLDFAST_STRESS_PROCESSES make it longer and larger (`npm test -- soak`).
const SEED = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const KILLS = lengthOf('HOLDFAST_STRESS_KILLS', { whole: 15, part: 7 });
const PROCESSES = Number(process.env.HOLDFAST_STRESS_PROCESSES ?? 4);
const NAMES = ['a', 'b', 'c'];
const PROGRAM = join(__dirname, 'kill-stress-program.js');
const THREADS = 3; // of each process
const MAX_OF_ITS_OWN = 3; // descriptors of its helper thread
const LATEST_MS = 15;
const MS_PER_KILL = 5000; // a watchdog

const random = randomFrom(SEED);
/** The numbers of the programs. */
const numbers = new Map();
const killed = new Set();
const running = new Set();
let directory;
/** The words before a program. @type {(number: number) => string[]} */
let launch;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
  launch = () => [];
  numbers.clear();
  killed.clear();
});
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});
const log = () => join(directory, 'log');

async function start() {
  const number = numbers.size;
  const options = { directory, number, names: NAMES, seed: random(2 ** 30) };
  const [execPath, ...execArgv] = [...launch(number), process.execPath];
  const child = fork(PROGRAM, [JSON.stringify(options)], { execPath, execArgv });
  numbers.set(child, number);
  running.add(child);
  const ended = once(child, 'exit').then(() => running.delete(child));
  await Promise.race([once(child, 'message'), ended]);
  expect(running).toContain(child);
  return child;
}

async function killOne(children) {
  const index = random(PROCESSES);
  const victim = children[index];
  const stopped = children[random(PROCESSES)];
  if (random(3) === 0) stopped.kill('SIGSTOP');
  await pause(random(LATEST_MS)); // the moment is what is drawn
  killed.add(String(numbers.get(victim)));
  victim.kill('SIGKILL');
  await once(victim, 'exit');
  stopped.kill('SIGCONT');
  children[index] = await start();
}

/** Resolves when the process has ended, which it does once all its requests are settled. */
async function stop(child) {
  const ended = once(child, 'exit');
  child.send('stop');
  expect(await ended).toEqual([0, null]);
}

/** A process that lives through it all. Resolves when all its threads are at work. */
async function startWitness() {
  const witness = await start();
  const seen = () => {
    const entries = readFileSync(log(), { encoding: 'utf8', flag: 'a+' });
    return new Set(entries.match(new RegExp(`^${numbers.get(witness)}\\.\\d+`, 'gm'))).size;
  };
  await untilEqual(seen, THREADS);
  return witness;
}

// After all deaths the witness keeps nothing except one end of a doorbell for each entry of the
// table, until the next bearer of that entry is rung, and the descriptors of its helper thread.
async function checkWitness(pid, before, countsBefore) {
  await untilEqual(() => descriptorsOf(pid, log()).lifelines, before.lifelines);
  const { doorbells, others } = descriptorsOf(pid, log());
  const counts = countsOf(pid);
  console.log(
    `of ${KILLS} deaths a process keeps ` +
      `${doorbells.length - before.doorbells.length} doorbells and ` +
      `${others - before.others} other descriptors`,
  );
  // The witness has both ends of its doorbells.
  expect(doorbells.length - new Set(doorbells).size).toBeLessThanOrEqual(THREADS);
  expect(others - before.others).toBeLessThanOrEqual(MAX_OF_ITS_OWN);
  expect(counts.segments).toBe(countsBefore.segments);
  expect(counts.threads).toBeLessThanOrEqual(countsBefore.threads + 1);
}

async function check() {
  const checker = new StressChecker(killed);
  const lines = createInterface({ input: createReadStream(log()) });
  for await (const line of lines) checker.read(line);
  return checker;
}

const PROMISE =
  'no two holders overlap, no request is forgotten, or overtaken except by 16 more urgent ones';
const TITLE = `${PROMISE} (HOLDFAST_SEED=${SEED})`;
const WATCHDOG_MS = 60_000 + KILLS * MS_PER_KILL;

/** @param {(witness: number) => Promise<() => Promise<void>>} [accompany]  until the last kill */
async function playKills(accompany = async () => async () => {}) {
  const witness = await startWitness();
  const endCompany = await accompany(witness.pid);
  const before = [descriptorsOf(witness.pid, log()), countsOf(witness.pid)];
  const children = await Promise.all(Array.from({ length: PROCESSES }, start));
  for (let kills = 0; kills < KILLS; kills += 1) await killOne(children);
  await endCompany();
  await Promise.all(children.map(stop));
  await checkWitness(witness.pid, ...before);
  await stop(witness);
  const { violations, grants, mostOvertakes } = await check();
  console.log(`the most overtakes of one request: ${mostOvertakes}`);
  expect(violations).toEqual([]);
  expect(grants).toBeGreaterThan(KILLS);
  return grants;
}

test(TITLE, () => playKills(), WATCHDOG_MS);

describeMembers('processes of three users of one group', () => {
  let intruder;
  afterEach(() => intruder?.kill());

  test(
    `${TITLE}; a stranger gets at nothing meanwhile`,
    async () => {
      makeShared(directory);
      writeFileSync(log(), '');
      chmodSync(log(), 0o660);
      launch = (number) => as(MEMBERS[number % MEMBERS.length]);
      const grants = await playKills(async (victim) => {
        intruder = new Intruder(STRANGER, { directory, bucket: 'stress', victim });
        return () => intruder.end();
      });
      console.log(`${KILLS} kills, ${grants} grants, ${intruder.attempts} attempts of a stranger`);
      expect(intruder.succeeded).toEqual([]);
      expect(intruder.attempts).toBeGreaterThan(0);
    },
    WATCHDOG_MS,
  );
});

const entry = { who: '1.0', what: 'enter', name: 'a', mode: 'exclusive', token: 5n, request: 1 };
const shared = { ...entry, mode: 'shared' };

/** One urgent request after another is granted while a request of another thread waits. */
function overtakenBy(count) {
  const waiting = { ...entry, who: '2.0', what: 'wait', token: 0n, rank: 0 };
  // The first one may be older: its thread has written no line before it.
  const overtaking = Array.from({ length: count + 1 }, (_, i) => {
    const urgent = { ...entry, request: i + 1, token: BigInt(i + 10), rank: 2 };
    return [{ ...urgent, what: 'wait', token: 0n }, urgent, { ...urgent, what: 'leave' }];
  });
  return [waiting, ...overtaking.flat(), { ...waiting, what: 'enter', token: 100n }];
}

test.each([
  ['two inside', [entry, { ...entry, who: '2.0', token: 6n }]],
  ['two inside', [shared, { ...entry, who: '2.0', token: 6n }]],
  ['a token that fell', [entry, { ...entry, what: 'leave' }, { ...entry, token: 4n }]],
  ['a token twice', [shared, { ...shared, who: '2.0' }]],
  [
    'overtaken',
    [
      { ...shared, request: 2 },
      { ...shared, token: 6n },
    ],
  ],
  [
    'overtaken',
    [
      { ...shared, request: 2, rank: 0 },
      { ...shared, token: 6n, rank: 2 },
    ],
  ],
  ['overtaken 17 times', overtakenBy(17)],
  ['a leaver was not inside', [{ ...entry, what: 'leave' }]],
])('the checker finds "%s"', (fault, entries) => {
  const checker = new StressChecker(new Set());
  for (const each of entries) checker.read(lineOf(each).trimEnd());
  expect(checker.violations).toEqual([expect.stringContaining(fault)]);
});

test('the checker lets 16 more urgent requests go ahead', () => {
  const checker = new StressChecker(new Set());
  for (const each of overtakenBy(16)) checker.read(lineOf(each).trimEnd());
  expect([checker.violations, checker.mostOvertakes]).toEqual([[], 16]);
});

test('the checker lets a later request of a thread go first if it is more urgent', () => {
  const checker = new StressChecker(new Set());
  for (const each of [
    { ...shared, request: 2, rank: 2 },
    { ...shared, token: 6n, rank: 1 },
  ]) {
    checker.read(lineOf(each).trimEnd());
  }
  expect(checker.violations).toEqual([]);
});

test('the checker lets in beside the dead, and readers beside readers', () => {
  const checker = new StressChecker(new Set(['1']));
  for (const each of [
    entry,
    { ...shared, who: '2.0', token: 6n },
    { ...shared, who: '3.0', token: 7n },
  ]) {
    checker.read(lineOf(each).trimEnd());
  }
  expect(checker.violations).toEqual([]);
});
