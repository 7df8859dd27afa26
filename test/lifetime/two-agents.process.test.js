'use strict';

const { ENDINGS } = require('../support/process-endings.js');
const { ProcessBucket } = require('../support/process-bucket.js');

// Agents of one process share its part in the bucket, and nothing else.
let bucket;
beforeEach(() => {
  bucket = new ProcessBucket();
});
afterEach(() => bucket.close());

const holdersOf = async (name) =>
  (await bucket.locks.query()).held
    .filter((lock) => lock.name === name)
    .map((lock) => lock.clientId);

test('threads of one process exclude each other and keep the order of their requests', async () => {
  const [a, b] = await Promise.all([bucket.open('thread'), bucket.open('thread')]);
  const order = [];
  const first = await a.hold('x');
  const requests = [];
  for (const actor of [b, a, b, a]) requests.push(await actor.request('x'));
  requests.forEach(({ granted }, i) => granted.then(() => order.push(i)));
  expect(await holdersOf('x')).toEqual([await a.clientId()]);
  await first.release();
  for (const request of requests) {
    await request.granted;
    expect(await holdersOf('x')).toHaveLength(1);
    await request.release();
  }
  expect(order).toEqual([0, 1, 2, 3]);
  await bucket.isClean({ threads: 2 });
});

describe.each(ENDINGS.thread)('a thread that ends by %s', (how) => {
  test('leaves alone what the other threads of its process hold and wait for', async () => {
    const [ending, other] = await Promise.all([bucket.open('thread'), bucket.open('thread')]);
    const held = await other.hold('held');
    const release = await bucket.hold('waited for');
    const waiting = await other.request('waited for');
    await ending.hold('of the ending agent');
    ending.endBy(how);
    await ending.ended;
    expect(await holdersOf('held')).toEqual([await other.clientId()]);
    expect(await holdersOf('of the ending agent')).toEqual([]);
    await release();
    await waiting.granted;
    await waiting.release();
    expect(await held.release('kept')).toEqual({ status: 'fulfilled', value: 'kept' });
    await bucket.isClean({ threads: 1 });
  });
});

test('a process that is killed takes all its agents with it', async () => {
  const [doubled, waiter] = await Promise.all([bucket.open('process'), bucket.open('process')]);
  const names = ['of the main thread', 'of a worker'];
  await doubled.hold(names[0]);
  await doubled.command('holdInThread', { name: names[1] });
  const holders = (await bucket.locks.query()).held.map(({ clientId }) => clientId);
  expect(new Set(holders).size).toBe(2);
  const waiting = [];
  for (const name of names) waiting.push(await waiter.request(name));
  doubled.endBy('SIGKILL');
  for (const request of waiting) {
    await request.granted;
    await request.release();
  }
  await bucket.isClean({ processes: 1 });
});
