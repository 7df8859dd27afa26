'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { setTimeout: pause } = require('node:timers/promises');
const { Intruder } = require('../support/intruder.js');
const { lengthOf } = require('../support/lengths.js');
const { MEMBERS, STRANGER, as, describeMembers, makeShared } = require('../support/members.js');
const { randomFrom } = require('../support/process-random.js');
const { findViolations } = require('./stop-stress-log.js');

// Processes are stopped for a moment, hundreds of times a second in all, as a busy machine does it:
// often in the middle of a change of the lock table, which others then meet locked.
// HOLDFAST_SEED=<seed> repeats the draws; HOLDFAST_STOPS=<count> makes it longer.
const SEED = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const STOPS = lengthOf('HOLDFAST_STOPS', { whole: 300, part: 100 });
const WITNESSES = 3;
const BUSY = 4;
const IN_FLIGHT = 3;
const NAMES = Array.from({ length: 12 }, (_, i) => `name ${i}`);
const [SHORTEST_MS, LONGEST_MS] = [5, 40];
const LONGEST_RUN_MS = 8;
const PROGRAM = join(__dirname, 'stop-stress-program.js');

const random = randomFrom(SEED);
const children = [];
let directory;
/** The words before a program. @type {(number: number) => string[]} */
let launch;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
  launch = () => [];
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

async function start(isBusy) {
  const seed = random(2 ** 30);
  const options = { directory, names: NAMES, seed, inFlight: IN_FLIGHT, isBusy };
  const [execPath, ...execArgv] = [...launch(children.length), process.execPath];
  const child = fork(PROGRAM, [JSON.stringify(options)], {
    execPath,
    execArgv,
    serialization: 'advanced',
  });
  children.push(child);
  await once(child, 'message');
  return child;
}

/** Stops a process again and again; the moments are what is drawn. */
async function disturb(child, stops) {
  for (let i = 0; i < stops; i += 1) {
    await pause(random(LONGEST_RUN_MS));
    child.kill('SIGSTOP');
    await pause(SHORTEST_MS + random(LONGEST_MS - SHORTEST_MS));
    child.kill('SIGCONT');
  }
}

async function notesOf(child) {
  const message = once(child, 'message');
  child.send('end');
  return (await message)[0];
}

const PROMISE = 'the queue keeps its promises while its processes are stopped';
const TITLE = `${PROMISE} ${STOPS} times, seed ${SEED}`;
const WATCHDOG_MS = 60_000 + STOPS * 100;

/** @param {(witness: number) => () => Promise<void>} [accompany]  until the last stop */
async function playStops(accompany = () => async () => {}) {
  const witnesses = await Promise.all(Array.from({ length: WITNESSES }, () => start(false)));
  const busy = await Promise.all(Array.from({ length: BUSY }, () => start(true)));
  const endCompany = accompany(witnesses[0].pid);
  const begin = performance.now();
  await Promise.all(busy.map((child) => disturb(child, Math.ceil(STOPS / BUSY))));
  const seconds = (performance.now() - begin) / 1000;
  await endCompany();
  const notes = (await Promise.all(witnesses.map(notesOf))).flat();
  process.stdout.write(
    `${notes.length} requests, ${Math.round(STOPS / seconds)} stops a second, seed ${SEED}\n`,
  );
  expect(findViolations(notes)).toEqual([]);
  expect(notes.filter(({ isLost }) => isLost).length).toBeGreaterThan(0);
}

test(TITLE, () => playStops(), WATCHDOG_MS);

describeMembers('processes of three users of one group', () => {
  let intruder;
  afterEach(() => intruder?.kill());

  test(
    `${TITLE}; a stranger gets at nothing meanwhile`,
    async () => {
      makeShared(directory);
      launch = (number) => as(MEMBERS[number % MEMBERS.length]);
      await playStops((victim) => {
        intruder = new Intruder(STRANGER, { directory, bucket: 'stress', victim });
        return () => intruder.end();
      });
      expect(intruder.succeeded).toEqual([]);
      expect(intruder.attempts).toBeGreaterThan(0);
    },
    WATCHDOG_MS,
  );
});

describe('the checker', () => {
  const note = (token, times, more = {}) => {
    const [requestBegan, requestReturned, grantedAt, releasedAt, settledAt] = times;
    const flags = { steals: false, isLost: false, isStillHeld: false };
    const rest = { requestBegan, requestReturned, grantedAt, releasedAt, settledAt };
    return { name: 'a', token, ...flags, ...rest, ...more };
  };
  const first = note(1, [0, 1, 10, 20, 21]);

  test.each([
    ['no violation', [first, note(2, [2, 3, 20, 30, 31])], []],
    ['two holders', [first, note(2, [2, 3, 19, 30, 31])], ['2 of a is granted while 1 is held']],
    [
      'an overtaking',
      [note(2, [0, 1, 30, 40, 41]), note(1, [2, 3, 10, 20, 21])],
      ['1 of a overtakes 2'],
    ],
    ['requests at the same time', [note(2, [0, 3, 30, 40, 41]), note(1, [2, 4, 10, 20, 21])], []],
    [
      'a stolen lock that fulfils',
      [first, note(2, [2, 3, 15, 30, 31], { steals: true })],
      ['1 of a fulfils, but is stolen'],
    ],
    [
      'a promise that settles early',
      [{ ...first, isStillHeld: true }],
      ['1 of a settles before its release'],
    ],
  ])('sees %s', (_, notes, violations) => {
    expect(findViolations(notes)).toEqual(violations);
  });
});
