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
const HOST_KINDS = ['process', 'thread', 'thread of another process'];

let victim;
let stealer;
let waiter;
async function openAll(hostKind) {
  [victim, stealer, waiter] = await Promise.all([
    bucket.open('process'),
    bucket.open(hostKind),
    bucket.open('process'),
  ]);
}
afterEach(async () => {
  await Promise.all([victim, stealer, waiter].map((actor) => actor.retire()));
  await bucket.receiveNewcomer(); // no process waits for a victim any more
  await bucket.isClean();
});

const steal = (actor, name) => actor.request(name, { steal: true });

describe.each(HOST_KINDS)('a steal by a %s', (hostKind) => {
  beforeEach(() => openAll(hostKind));

  test('is reported to the victim, and a later release of the victim releases nothing', async () => {
    const held = await victim.hold('a');
    const waiting = await waiter.request('a');
    const time = process.hrtime.bigint();
    const stolen = await steal(stealer, 'a');
    timings.add(`${hostKind}, the stealer's grant`, time, (await stolen.granted).at);
    expect(await held.settled).toMatchObject(LOST);
    await held.release();
    const { held: holders, pending } = await bucket.locks.query();
    expect(holders).toMatchObject([{ clientId: await stealer.clientId() }]);
    expect(pending).toMatchObject([{ clientId: await waiter.clientId() }]);
    await stolen.release();
    await waiting.granted;
    await waiting.release();
  });

  test('takes the lock from a victim whose loop is blocked, which is notified afterwards', async () => {
    const held = await victim.hold('a');
    await victim.block();
    const stolen = await steal(stealer, 'a');
    await stolen.granted;
    expect((await bucket.locks.query()).held).toHaveLength(1);
    await stolen.release();
    victim.go();
    expect(await held.settled).toMatchObject(LOST);
  });

  test('takes the lock from a victim that dies before it is notified', async () => {
    await victim.hold('a');
    await victim.block();
    const stolen = await steal(stealer, 'a');
    await stolen.granted;
    const waiting = await waiter.request('a');
    victim.endBy('SIGKILL');
    await victim.ended;
    expect((await bucket.locks.query()).held).toMatchObject([
      { clientId: await stealer.clientId() },
    ]);
    await stolen.release();
    await waiting.granted;
    await waiting.release();
  });
});

describe('a stealer that is killed', () => {
  beforeEach(() => openAll('process'));

  test('gives the lock to the request that waited for the victim', async () => {
    const held = await victim.hold('a');
    const waiting = await waiter.request('a');
    await (
      await steal(stealer, 'a')
    ).granted;
    const died = stealer.endBy('SIGKILL');
    timings.add(
      'from the death of the stealer to the next grant',
      died,
      (await waiting.granted).at,
    );
    expect(await held.settled).toMatchObject(LOST);
    await waiting.release();
  });

  test('with its grant on its way gives the lock to the request that waited', async () => {
    const held = await victim.hold('a');
    const waiting = await waiter.request('a');
    // It steals and is blocked in the same task, so its callback never runs.
    stealer.command('stealAndBlock', { name: 'a' }).catch(() => {});
    expect(await held.settled).toMatchObject(LOST);
    stealer.endBy('SIGKILL');
    await waiting.granted;
    await waiting.release();
  });

  test('is stolen from by the next stealer, which keeps the lock', async () => {
    const held = await victim.hold('a');
    const first = await steal(stealer, 'a');
    await first.granted;
    const second = await steal(waiter, 'a');
    stealer.endBy('SIGKILL');
    await stealer.ended;
    await second.granted;
    expect(await held.settled).toMatchObject(LOST);
    expect((await bucket.locks.query()).held).toMatchObject([
      { clientId: await waiter.clientId() },
    ]);
    await second.release();
  });
});
