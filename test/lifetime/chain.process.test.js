'use strict';

const { lengthOf } = require('../support/lengths.js');
const { ProcessBucket, untilEqual } = require('../support/process-bucket.js');
const { Timings } = require('../support/process-timings.js');
const { randomFrom } = require('../support/process-random.js');

// Eight processes in one queue, of which random ones are killed.
// HOLDFAST_SEED=<seed> repeats a run; HOLDFAST_ROUNDS=<count> makes it longer (`npm test
// -- soak`).
const SEED = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const PROCESSES = 8;
const ROUNDS = lengthOf('HOLDFAST_ROUNDS', { whole: 2, part: 1 });
const NOTHING = { held: [], pending: [] };

const timings = new Timings(`From SIGKILL of a holder to the next grant (HOLDFAST_SEED=${SEED}):`);
const random = randomFrom(SEED);

let bucket;
beforeEach(() => {
  bucket = new ProcessBucket();
});
afterEach(() => bucket.close());
afterAll(() => timings.print());

/** @param {number} count */
const openProcesses = (count) =>
  Promise.all(Array.from({ length: count }, () => bucket.open('process')));

/** Puts processes into one queue, in their order. */
async function queueUp(actors, options) {
  const queue = [];
  for (const actor of actors) queue.push({ actor, request: await actor.request('chain', options) });
  return queue;
}

const FATES = ['killed waiting', 'killed holding', 'spared'];

function drawFates() {
  const fates = Array.from({ length: PROCESSES }, () => FATES[random(FATES.length)]);
  fates[random(PROCESSES)] = 'spared';
  return fates;
}

/** In one stroke: who would clean up after the one may die with it. */
const killAtOnce = (actors) =>
  Promise.all(
    actors.map((actor) => {
      actor.endBy('SIGKILL');
      return actor.ended;
    }),
  );

/** One after the other, each when nothing is left of the one before. */
async function killInTurn(actors) {
  for (const [i, actor] of actors.entries()) {
    await killAtOnce([actor]);
    await bucket.locks.query(); // no process watches the last in a queue; query() checks all
    await bucket.hasFilesOf({ processes: PROCESSES - i - 1 });
  }
}

/** Eight processes in a queue behind a lock of the test, and what is to become of each. */
class Chain {
  fates = drawFates();

  async queueUp() {
    this.release = await bucket.hold('chain');
    this.queue = await queueUp(await openProcesses(PROCESSES));
    this.clientIds = await Promise.all(this.queue.map(({ actor }) => actor.clientId()));
  }

  /** The places of those who share a fate, or of all others. */
  positionsOf(fate) {
    return [...this.fates.keys()].filter((position) => this.fates[position] === fate);
  }

  positionsBut(fate) {
    return [...this.fates.keys()].filter((position) => this.fates[position] !== fate);
  }

  get toBeKilledWaiting() {
    return this.positionsOf('killed waiting').map((position) => this.queue[position].actor);
  }

  /**
   * Releases the lock, then lets each in turn release it or die with it; `beforeEnd` runs before
   * each of these ends, with the number of processes that live.
   * @returns the places in the order in which they were granted
   */
  async goThrough(beforeEnd = async () => {}) {
    const order = [];
    let alive = this.positionsBut('killed waiting').length;
    let left = alive;
    let died;
    let lastToken = 0n;
    await this.release();
    for (; left > 0; left -= 1) {
      const { held } = await untilHeld();
      const position = this.clientIds.indexOf(held[0].clientId);
      order.push(position);
      const { actor, request } = this.queue[position];
      const { at, token } = await request.granted;
      if (died !== undefined) timings.add(`place ${position}`, died, at);
      expect(token).toBeGreaterThan(lastToken);
      lastToken = token;
      await beforeEnd(alive);
      died = undefined;
      if (this.fates[position] === 'spared') {
        await request.release();
      } else {
        died = actor.endBy('SIGKILL');
        await actor.ended;
        alive -= 1;
      }
    }
    return order;
  }
}

/** The snapshot in which the lock has a holder (the dead hold nothing). */
async function untilHeld() {
  for (;;) {
    const snapshot = await bucket.locks.query();
    if (snapshot.held.length > 0) return snapshot;
  }
}

describe.each(Array.from({ length: ROUNDS }, (_, i) => [i + 1]))('round %d', () => {
  let chain;
  beforeEach(async () => {
    chain = new Chain();
    await chain.queueUp();
  });
  afterEach(() => untilEqual(() => bucket.locks.query(), NOTHING));

  test('survivors keep their order when others are killed one after the other', async () => {
    await killInTurn(chain.toBeKilledWaiting);
    const order = await chain.goThrough((alive) => bucket.hasFilesOf({ processes: alive }));
    expect(order).toEqual(chain.positionsBut('killed waiting'));
  });

  test('survivors keep their order when others are killed in one stroke', async () => {
    await killAtOnce(chain.toBeKilledWaiting);
    expect(await chain.goThrough()).toEqual(chain.positionsBut('killed waiting'));
  });
});

test('when all but the last are killed in one stroke, the last is granted', async () => {
  const actors = await openProcesses(PROCESSES);
  const queue = await queueUp(actors);
  await queue[0].request.granted;
  const died = process.hrtime.bigint();
  await killAtOnce(actors.slice(0, -1));
  const { request } = queue.at(-1);
  timings.add('the last of eight', died, (await request.granted).at);
  await request.release();
  expect(await bucket.locks.query()).toEqual(NOTHING);
});

// The writer cleans up after the readers and dies at some point of that; the last, who watches the
// writer only, has to find what is left of the readers too.
test.each(Array.from({ length: 4 * ROUNDS }, () => [random(5000)]))(
  'a process that dies %d us after those it waited for leaves nothing of them behind',
  async (delayUs) => {
    const readers = await openProcesses(2);
    for (const reader of readers) await reader.hold('group', { mode: 'shared' });
    const [writer, last] = await openProcesses(2);
    await writer.request('group');
    const read = await last.request('group', { mode: 'shared' });

    const died = process.hrtime.bigint();
    for (const reader of readers) reader.endBy('SIGKILL');
    while (process.hrtime.bigint() < died + BigInt(delayUs) * 1000n);
    writer.endBy('SIGKILL');
    await read.granted;
    await read.release();
    await bucket.isClean({ processes: 1 });
  },
);

test('shared requests behind several dead holders are granted together', async () => {
  const readers = await openProcesses(4);
  for (const reader of readers) await reader.hold('group', { mode: 'shared' });
  const [writer, ...lateReaders] = await openProcesses(3);
  const write = await writer.request('group');
  const reads = [];
  for (const reader of lateReaders) reads.push(await reader.request('group', { mode: 'shared' }));

  const died = process.hrtime.bigint();
  await killAtOnce(readers);
  timings.add('a writer behind four readers', died, (await write.granted).at);
  writer.endBy('SIGKILL');
  await Promise.all(reads.map(({ granted }) => granted));
  expect((await bucket.locks.query()).held).toHaveLength(reads.length);
  await Promise.all(reads.map((read) => read.release()));
  await bucket.isClean({ processes: lateReaders.length });
});
