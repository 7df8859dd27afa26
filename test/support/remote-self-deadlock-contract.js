'use strict';

const { once } = require('node:events');
const { Worker } = require('node:worker_threads');
const { openLockManager } = require('../../lib/index.js');
const { sleepFor: sleep } = require('./sleep-for.js');

/** @param {() => Promise<any>} startServer  see remote-servers.js */
function describeSelfDeadlock(startServer) {
  // requestSync() would wait for its own thread. A wait that is not seen ends by this timeout.

  const TIMEOUT = 300_000; // a watchdog
  const LIBRARY = require.resolve('../../lib/index.js');
  const deadlock = expect.objectContaining({ name: 'DeadlockError' });
  const forEver = () => new Promise(() => {});

  let cluster;
  let locks;
  let other;
  let count = 0;
  beforeAll(async () => {
    cluster = await startServer();
  });
  afterAll(() => cluster.stop());
  beforeEach(() => {
    count += 1;
    locks = open();
    other = open();
  });
  afterEach(async () => {
    locks.close();
    other.close();
    await cluster.untilEmpty();
  });

  const open = () => openLockManager({ url: cluster.url(`self-${count}`) });

  const requestSync = (options) =>
    locks.requestSync('a', { timeout: TIMEOUT, ...options }, ({ mode }) => mode);

  const ignore = () => {};

  /** Asks, and keeps what it gets until its manager is closed. */
  function take(manager, options) {
    let held;
    const granted = new Promise((resolve) => {
      held = () => {
        resolve();
        return forEver();
      };
    });
    manager.request('a', options, held).catch(ignore);
    return granted;
  }

  async function untilPending(pending) {
    while ((await locks.query()).pending.length < pending) await sleep(10);
  }

  /** Another thread that runs this code, in which there are locks and options. */
  async function startThread(options, code) {
    const head = `
    const { openLockManager } = require(${JSON.stringify(LIBRARY)});
    const { parentPort, workerData: { url, options } } = require('node:worker_threads');
    const locks = openLockManager({ url });`;
    const workerData = { url: cluster.url(`self-${count}`), options };
    const worker = new Worker(`${head}${code}`, { eval: true, workerData });
    await once(worker, 'online');
    return worker;
  }

  test('its manager holds what the limit allows', async () => {
    const limited = { mode: 'shared', limit: 2 };
    await Promise.all([take(locks, limited), take(locks, limited)]);
    expect(() => requestSync(limited)).toThrow(deadlock);
    expect(requestSync({ mode: 'shared' })).toBe('shared');
  });

  test('another manager of the thread holds the lock', async () => {
    await take(other);
    expect(() => requestSync()).toThrow(deadlock);
    expect((await locks.query()).pending).toEqual([]);
  });

  test('two managers of the thread hold what the limit allows', async () => {
    const limited = { mode: 'shared', limit: 2 };
    await Promise.all([take(locks, limited), take(other, limited)]);
    expect(() => requestSync(limited)).toThrow(deadlock);
  });

  test('a request of the same turn is before it, and the cluster is not reached yet', () => {
    void take(locks);
    expect(() => requestSync()).toThrow(deadlock);
  });

  test('a request of another thread waits for this one, and is before it', async () => {
    await take(other, { mode: 'shared' });
    const waiter = await startThread({}, `locks.request('a', () => {});`);
    await untilPending(1);
    expect(() => requestSync({ mode: 'shared' })).toThrow(deadlock);
    await waiter.terminate();
  });

  test('a more urgent request goes before it, and waits for this thread', async () => {
    await take(locks, { mode: 'shared' });
    const urgent = await startThread(
      {},
      `locks.request('a', { mode: 'shared' }, async () => {
        parentPort.postMessage('holds');
        while ((await locks.query()).pending.length === 0);
        await locks.request('a', { priority: 'user-blocking' }, () => {});
      });`,
    );
    await once(urgent, 'message');
    expect(() => requestSync({ mode: 'shared', limit: 2 })).toThrow(deadlock);
    await urgent.terminate();
  });

  test('none of these: it is granted', async () => {
    await take(other, { mode: 'shared' });
    await take(locks, { mode: 'shared', limit: 3 });
    expect(requestSync({ mode: 'shared', limit: 3 })).toBe('shared');
  });

  test('another manager gives the lock back: it waits for that', async () => {
    const handle = await other.acquire('a');
    const released = handle.release();
    expect(requestSync()).toBe('exclusive');
    await released;
  });

  test('another thread holds one of the places: it waits for that one', async () => {
    const limited = { mode: 'shared', limit: 2 };
    const holder = await startThread(
      limited,
      `locks.request('a', options, async () => {
       parentPort.postMessage('holds');
       while ((await locks.query()).pending.length === 0);
     }).then(() => locks.close());`,
    );
    await once(holder, 'message');
    await take(locks, limited);
    expect(requestSync(limited)).toBe('shared');
    await once(holder, 'exit');
  });

  test('a lock of one manager covers a reentrant request of another of the thread', async () => {
    const inside = () => other.request('a', { reentrant: true, timeout: TIMEOUT }, () => 'covered');
    expect(await locks.request('a', { reentrant: true }, inside)).toBe('covered');
  });

  test('a request inside a lock of another manager of the thread closes a circle', async () => {
    const options = { deadlock: 'reject', timeout: TIMEOUT };
    await locks.request('a', { deadlock: 'reject' }, () =>
      expect(other.request('a', options, ignore)).rejects.toEqual(deadlock),
    );
  });
}

module.exports = { describeSelfDeadlock };
