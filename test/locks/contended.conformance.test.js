'use strict';

const { describeOneClient, describeTwoClients, unique } = require('../support/conformance.js');

const REPORTED = { reportsContention: true };
const CONTENDED = { name: 'AbortError', isLockLost: false };

describeTwoClients('lock.contended', (clients) => {
  test('aborts when a request of another client waits', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name, {}, REPORTED);
    const waiting = await second.request(name);
    expect(await holder.contended).toMatchObject(CONTENDED);
    await holder.release();
    await waiting.granted;
    await waiting.release();
  });

  test('aborts at once if a request waits already', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const earlier = await first.hold(name);
    const holder = await second.request(name, {}, REPORTED);
    const waiting = await first.request(name);
    await earlier.release();
    await holder.granted;
    expect(await holder.contended).toMatchObject(CONTENDED);
    await holder.release();
    await waiting.granted;
    await waiting.release();
  });

  test('aborts for each of several holders', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const shared = { mode: 'shared' };
    const holders = [
      await first.hold(name, shared, REPORTED),
      await second.hold(name, shared, REPORTED),
    ];
    const writer = await first.request(name);
    for (const holder of holders) {
      expect(await holder.contended).toMatchObject(CONTENDED);
      await holder.release();
    }
    await writer.granted;
    await writer.release();
  });

  test('does not abort for requests that do not wait', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name, { mode: 'shared' }, REPORTED);
    const beside = await second.hold(name, { mode: 'shared' });
    const missed = await second.request(name, { ifAvailable: true });
    expect(await missed.granted).toBeNull();
    await missed.release();
    await beside.release();
    let isContended = false;
    void holder.contended.then(() => (isContended = true));
    await first.queryOf(name);
    expect(isContended).toBe(false);
    // A notice that was on its way would be before this one.
    const waiting = await second.request(name);
    expect(await holder.contended).toMatchObject(CONTENDED);
    await holder.release();
    await waiting.granted;
    await waiting.release();
  });

  test('does not abort for a permit that is free', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const permit = { mode: 'shared', limit: 2 };
    const holder = await first.hold(name, permit, REPORTED);
    const beside = await second.hold(name, permit);
    let isContended = false;
    void holder.contended.then(() => (isContended = true));
    await second.queryOf(name);
    await first.queryOf(name);
    expect(isContended).toBe(false);
    const waiting = await second.request(name, permit);
    expect(await holder.contended).toMatchObject(CONTENDED);
    await holder.release();
    await beside.release();
    await waiting.granted;
    await waiting.release();
  });

  test('a lost lock is not contended by requests that wait for its next holder', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const victim = await first.hold(name, {}, { ...REPORTED, reportsLoss: true });
    const stealer = await second.hold(name, { steal: true });
    await victim.lost;
    let isContended = false;
    void victim.contended.then(() => (isContended = true));
    const waiting = await second.request(name);
    await first.queryOf(name);
    await stealer.release();
    await waiting.granted;
    await waiting.release();
    expect(isContended).toBe(false);
    await victim.release();
  });
});

describeOneClient('lock.contended in one client', (run) => {
  test(
    'a batch that lets others in',
    run(async ({ locks, assert, name }) => {
      const order = [];
      let waiting;
      await locks.request(name, async ({ contended }) => {
        assert.equal(contended.aborted, false);
        waiting = locks.request(name, { deadlock: 'ignore' }, () => order.push('next'));
        while (!contended.aborted) await new Promise((resolve) => setImmediate(resolve));
        assert.equal(contended.reason.name, 'AbortError');
        assert.ok(contended.reason.message.includes(name));
        order.push('batch');
      });
      await waiting;
      assert.deepEqual(order, ['batch', 'next']);
    }),
  );

  test(
    'is one signal, which a later request does not abort once the lock is released',
    run(async ({ locks, assert, name }) => {
      let kept;
      await locks.request(name, (lock) => {
        kept = lock.contended;
        assert.ok(kept instanceof AbortSignal);
        assert.equal(lock.contended, kept);
      });
      const holder = await locks.acquire(name);
      const waiting = locks.request(name, () => {});
      holder.release();
      await waiting;
      assert.equal(kept.aborted, false);
    }),
  );

  test(
    'of a handle',
    run(async ({ locks, assert, name }) => {
      const handle = await locks.acquire(name);
      const isContended = new Promise((resolve) => {
        handle.contended.addEventListener('abort', resolve, { once: true });
      });
      const waiting = locks.request(name, () => 'next');
      await isContended;
      handle.release();
      assert.equal(await waiting, 'next');
    }),
  );

  test(
    'many reentrant requests leave no listener behind',
    run(async ({ locks, assert, name }) => {
      const warnings = [];
      const note = ({ name: kind }) => warnings.push(kind);
      process.on('warning', note);
      await locks.request(name, { reentrant: true }, async () => {
        for (let i = 0; i < 20; i += 1) {
          await locks.request(name, { reentrant: true }, (lock) => lock.contended);
        }
      });
      await new Promise((resolve) => setImmediate(resolve));
      process.off('warning', note);
      assert.deepEqual(warnings, []);
    }),
  );

  test(
    'inside a reentrant request it is the one of the lock outside',
    run(async ({ locks, assert, name }) => {
      let waiting;
      await locks.request(name, { reentrant: true }, async () => {
        await locks.request(name, { reentrant: true }, async ({ contended }) => {
          waiting = locks.request(name, { deadlock: 'ignore' }, () => 'next');
          while (!contended.aborted) await new Promise((resolve) => setImmediate(resolve));
        });
      });
      assert.equal(await waiting, 'next');
    }),
  );
});
