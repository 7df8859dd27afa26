'use strict';

// A process of the stress test with stops. A witness requests locks that other processes request
// too, without a pause, and notes the times, of a clock that all processes share, in nanoseconds.
// On the message 'end' it sends its notes. A busy one uses separate locks as fast as it can: when
// it is stopped, it is often in the middle of a change.

const { setImmediate: nextTurn } = require('node:timers/promises');
const { SharedMemoryBackend } = require('../../lib/backends/shared-memory/backend.js');
const { openLockManager } = require('../../lib/index.js');
const { randomFrom } = require('../support/process-random.js');

const { directory, names, seed, inFlight, isBusy } = JSON.parse(process.argv[2]);
const STEALS_ONE_IN = 40;
const CHECKS_ONE_IN = 50;
/** Enough to meet every shard. */
const OWN_NAMES = 256;

const random = randomFrom(seed);
const locks = openLockManager({
  backend: new SharedMemoryBackend({ directory, bucket: 'stress' }),
});
const now = () => Number(process.hrtime.bigint());
const notes = [];
let isEnding = false;

/** One request, from before it is made until its promise has settled. */
async function makeRequest() {
  const name = names[random(names.length)];
  const steals = random(STEALS_ONE_IN) === 0;
  const note = { name, steals, requestBegan: now(), isLost: false, isStillHeld: false };
  const request = locks.request(name, steals ? { steal: true } : {}, async (lock) => {
    note.grantedAt = now();
    note.token = Number(lock.token - ((lock.token >> 40n) << 40n)); // the rest is the same in all
    if (random(2) === 0) await null;
    note.releasedAt = now();
  });
  note.requestReturned = now();
  try {
    await request;
  } catch (error) {
    if (error.name !== 'AbortError') throw error;
    note.isLost = true;
  }
  note.settledAt = now();
  if (random(CHECKS_ONE_IN) === 0) await check(note);
  notes.push(note);
}

/** Releases a lock whose promise has settled. */
async function check(note) {
  const { held } = await locks.inspect();
  const isIt = (/** @type {{ name: string, token: bigint }} */ { name, token }) =>
    name === note.name && Number(token - ((token >> 40n) << 40n)) === note.token;
  note.isStillHeld = note.token !== undefined && held.some(isIt);
}

async function witness() {
  while (!isEnding) await makeRequest();
}

async function beBusy() {
  for (let i = 0; !isEnding; i += 1) {
    await locks.request(`${process.pid} ${i % OWN_NAMES}`, () => {});
    if (i % OWN_NAMES === 0) await nextTurn();
  }
}

const workers = isBusy ? [beBusy()] : Array.from({ length: inFlight }, witness);
process.once('disconnect', () => process.exit()); // its test was killed
process.on('message', async () => {
  isEnding = true;
  await Promise.all(workers);
  process.send(notes, () => process.exit());
});
process.send('begun');
