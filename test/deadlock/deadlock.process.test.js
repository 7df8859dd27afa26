'use strict';

const { ProcessBucket } = require('../support/process-bucket.js');
const { Timings } = require('../support/process-timings.js');
const { randomFrom } = require('../support/process-random.js');

const SEED = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const random = randomFrom(SEED);
const timings = new Timings('From the request that closes a cycle to its end:');

let bucket;
beforeEach(() => {
  bucket = new ProcessBucket();
});
afterEach(() => bucket.close());
afterAll(() => timings.print());

/**
 * Inside an actor: holds one lock until all are held, then asks for the next. Gives up when it is
 * warned.
 */
async function takeTwo({ locks, name: { own, next, all, deadlock } }) {
  const controller = new AbortController();
  const warnings = [];
  process.on('warning', ({ code, message }) => {
    if (code !== 'HOLDFAST_DEADLOCK') return; // of a busy machine, say
    warnings.push({ code, message });
    controller.abort('warned');
  });
  let start;
  const inner = () => locks.request(next, { deadlock, signal: controller.signal }, () => 'granted');
  const [{ value, reason }] = await Promise.allSettled([
    locks.request(own, { deadlock }, async () => {
      for (let held = []; held.length < all.length;) {
        held = (await locks.query()).held.filter((lock) => all.includes(lock.name));
      }
      start = process.hrtime.bigint();
      return inner();
    }),
  ]);
  const end = process.hrtime.bigint();
  return { value, error: reason?.name ?? reason, cycle: reason?.cycle, warnings, start, end };
}

const namesOf = (count) => Array.from({ length: count }, (_, i) => `lock ${i}`);

/** As many actors, in processes and threads, each of which waits for the next. */
async function closeCircle(count, deadlock) {
  const all = namesOf(count);
  const hostKinds = ['process', 'process', 'thread', 'thread of another process'];
  const actors = await Promise.all(all.map((_, i) => bucket.open(hostKinds[i % hostKinds.length])));
  const results = await Promise.all(
    actors.map((actor, i) =>
      actor.run(takeTwo, { own: all[i], next: all[(i + 1) % count], all, deadlock }),
    ),
  );
  const clientIds = await Promise.all(actors.map((actor) => actor.clientId()));
  return { all, results, clientIds };
}

describe.each([2, 3, 8])('a cycle of %d agents', (count) => {
  test('is broken by one request, which rejects with all of the cycle', async () => {
    const { all, results, clientIds } = await closeCircle(count, 'reject');
    const victims = results.filter(({ error }) => error !== undefined);
    expect(victims).toHaveLength(1);
    const [{ error, cycle, start, end }] = victims;
    expect(error).toBe('DeadlockError');
    expect(cycle.map(({ name }) => name).sort()).toEqual(all);
    expect(cycle.map(({ clientId }) => clientId).sort()).toEqual(clientIds.sort());
    expect(results.filter(({ value }) => value === 'granted')).toHaveLength(count - 1);
    timings.add(`${count} agents`, start, end);
  });

  test('is reported once, with all that wait in it', async () => {
    const { all, results } = await closeCircle(count, 'warn');
    const warnings = results.flatMap((result) => result.warnings);
    expect(warnings).toHaveLength(1);
    expect(warnings[0].code).toBe('HOLDFAST_DEADLOCK');
    for (const name of all) expect(warnings[0].message).toContain(`'${name}'`);
    expect(results.filter(({ error }) => error === 'warned')).toHaveLength(1);
  });
});

/** Inside an actor: takes locks inside each other, in their order, and keeps them for a while. */
async function nestInOrder({ locks, name: { all, rounds, seed } }) {
  let state = seed;
  const draw = (below) => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 8) % below;
  };
  const pause = () => new Promise((resolve) => setTimeout(resolve, draw(40)));
  const nest = async (names) => {
    if (names.length === 0) return pause();
    const [name, ...inner] = names;
    const mode = draw(2) === 0 ? 'shared' : 'exclusive';
    return locks.request(name, { mode, deadlock: 'reject' }, () => nest(inner));
  };
  for (let i = 0; i < rounds; i += 1) await nest(all.filter(() => draw(2) === 0));
  return 'done';
}

test(`locks taken in one order never look like a deadlock (HOLDFAST_SEED=${SEED})`, async () => {
  const all = namesOf(4);
  const hostKinds = [
    'process',
    'process',
    'process',
    'thread',
    'thread',
    'thread of another process',
  ];
  const actors = await Promise.all(hostKinds.map((hostKind) => bucket.open(hostKind)));
  const runs = actors.map((actor) =>
    actor.run(nestInOrder, { all, rounds: 15, seed: random(2 ** 31) }),
  );
  expect(await Promise.all(runs)).toEqual(actors.map(() => 'done'));
});
