'use strict';

const { PROCESS_BACKENDS } = require('../support/process-backends.js');
const { ProcessBucket } = require('../support/process-bucket.js');

// A process that does not run is alive: only its kernel's word counts, not its silence.
describe.each(Object.keys(PROCESS_BACKENDS))('over %s', (backend) => {
  let bucket;
  let stopped;
  let waiter;
  beforeEach(async () => {
    bucket = new ProcessBucket({ backend });
    [stopped, waiter] = await Promise.all([bucket.open('process'), bucket.open('process')]);
  });
  afterEach(() => bucket.close());

  const REQUESTS = 20;
  const ifAvailable = (name) => bucket.locks.request(name, { ifAvailable: true }, (lock) => lock);

  test('a stopped holder keeps its lock however often it is asked for, and continues later', async () => {
    const held = await stopped.hold('a');
    const waiting = await waiter.request('a');
    await stopped.freeze();
    for (let i = 0; i < REQUESTS; i += 1) {
      expect(await ifAvailable('a')).toBeNull(); // asks whether the holder lives
      expect((await bucket.locks.query()).held).toMatchObject([
        { clientId: await stopped.clientId() },
      ]);
    }
    stopped.thaw();
    expect(await held.release('kept')).toEqual({ status: 'fulfilled', value: 'kept' });
    await waiting.granted;
    await waiting.release();
    await bucket.isClean({ processes: 2 });
  });

  test('a stopped holder that is killed gives up its lock', async () => {
    await stopped.hold('a');
    const waiting = await waiter.request('a');
    await stopped.freeze();
    stopped.endBy('SIGKILL');
    await waiting.granted;
    await waiting.release();
    await bucket.isClean({ processes: 1 });
  });

  test('a stopped process is granted what it waits for, and learns of it when it continues', async () => {
    const release = await bucket.hold('a');
    const requested = await stopped.request('a');
    const waiting = await waiter.request('a');
    await stopped.freeze();
    await release();
    const { held, pending } = await bucket.locks.query();
    expect(held).toMatchObject([{ clientId: await stopped.clientId() }]);
    expect(pending).toMatchObject([{ clientId: await waiter.clientId() }]);
    stopped.thaw();
    await requested.granted;
    await requested.release();
    await waiting.granted;
    await waiting.release();
    await bucket.isClean({ processes: 2 });
  });

  test('a stopped process that is killed with a grant on its way gives up the lock', async () => {
    const release = await bucket.hold('a');
    await stopped.request('a');
    const waiting = await waiter.request('a');
    await stopped.freeze();
    await release();
    stopped.endBy('SIGKILL');
    await waiting.granted;
    await waiting.release();
    await bucket.isClean({ processes: 1 });
  });

  test('a stopped holder is notified of a steal when it continues', async () => {
    const held = await stopped.hold('a');
    await stopped.freeze();
    const stolen = await waiter.hold('a', { steal: true });
    await stolen.release();
    stopped.thaw();
    expect(await held.settled).toMatchObject({
      status: 'rejected',
      reason: { name: 'AbortError', isLockLost: true, reason: 'stolen' },
    });
    await bucket.isClean({ processes: 2 });
  });
});
