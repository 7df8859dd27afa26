'use strict';

const { ProcessBucket } = require('../support/process-bucket.js');
const { Timings } = require('../support/process-timings.js');

const timings = new Timings('Steals between processes:');

let bucket;
beforeAll(() => {
  bucket = new ProcessBucket();
});
afterAll(async () => {
  timings.print();
  await bucket.close();
});

const LOST = {
  status: 'rejected',
  reason: { name: 'AbortError', isLockLost: true, reason: 'stolen' },
};
const PLACES = ['process', 'thread', 'thread of another process'];

let victim;
let thief;
let waiter;
async function openAll(place) {
  [victim, thief, waiter] = await Promise.all([
    bucket.open('process'),
    bucket.open(place),
    bucket.open('process'),
  ]);
}
afterEach(async () => {
  await Promise.all([victim, thief, waiter].map((actor) => actor.retire()));
  await bucket.receiveNewcomer(); // no process waits for a victim any more
  await bucket.isClean();
});

const steal = (actor, name) => actor.request(name, { steal: true });

describe.each(PLACES)('a steal by a %s', (place) => {
  beforeEach(() => openAll(place));

  test('is reported to the victim, and a later release of the victim releases nothing', async () => {
    const held = await victim.hold('a');
    const waiting = await waiter.request('a');
    const time = process.hrtime.bigint();
    const stolen = await steal(thief, 'a');
    timings.add(`${place}, the thief's grant`, time, (await stolen.granted).at);
    expect(await held.settled).toMatchObject(LOST);
    await held.release();
    const { held: holders, pending } = await bucket.locks.query();
    expect(holders).toMatchObject([{ clientId: await thief.clientId() }]);
    expect(pending).toMatchObject([{ clientId: await waiter.clientId() }]);
    await stolen.release();
    await waiting.granted;
    await waiting.release();
  });

  test('takes the lock from a victim whose loop is blocked, which is notified afterwards', async () => {
    const held = await victim.hold('a');
    await victim.block();
    const stolen = await steal(thief, 'a');
    await stolen.granted;
    expect((await bucket.locks.query()).held).toHaveLength(1);
    await stolen.release();
    victim.go();
    expect(await held.settled).toMatchObject(LOST);
  });

  test('takes the lock from a victim that dies before it is notified', async () => {
    await victim.hold('a');
    await victim.block();
    const stolen = await steal(thief, 'a');
    await stolen.granted;
    const waiting = await waiter.request('a');
    victim.endBy('SIGKILL');
    await victim.ended;
    expect((await bucket.locks.query()).held).toMatchObject([{ clientId: await thief.clientId() }]);
    await stolen.release();
    await waiting.granted;
    await waiting.release();
  });
});

describe('a thief that is killed', () => {
  beforeEach(() => openAll('process'));

  test('gives the lock to the request that waited for the victim', async () => {
    const held = await victim.hold('a');
    const waiting = await waiter.request('a');
    await (
      await steal(thief, 'a')
    ).granted;
    const died = thief.endBy('SIGKILL');
    timings.add('from the death of the thief to the next grant', died, (await waiting.granted).at);
    expect(await held.settled).toMatchObject(LOST);
    await waiting.release();
  });

  test('with its grant on its way gives the lock to the request that waited', async () => {
    const held = await victim.hold('a');
    const waiting = await waiter.request('a');
    // It steals and is blocked in the same task, so its callback never runs.
    thief.command('stealAndBlock', { name: 'a' }).catch(() => {});
    expect(await held.settled).toMatchObject(LOST);
    thief.endBy('SIGKILL');
    await waiting.granted;
    await waiting.release();
  });

  test('is stolen from by the next thief, which keeps the lock', async () => {
    const held = await victim.hold('a');
    const first = await steal(thief, 'a');
    await first.granted;
    const second = await steal(waiter, 'a');
    thief.endBy('SIGKILL');
    await thief.ended;
    await second.granted;
    expect(await held.settled).toMatchObject(LOST);
    expect((await bucket.locks.query()).held).toMatchObject([
      { clientId: await waiter.clientId() },
    ]);
    await second.release();
  });
});
