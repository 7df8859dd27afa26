'use strict';

const { describeOneClient, describeTwoClients, unique } = require('../support/conformance.js');

const STEAL = { steal: true };
const STOLEN = {
  status: 'rejected',
  reason: { name: 'AbortError', isLockLost: true, reason: 'stolen' },
};

// Web Locks, #algorithm-request-lock, the steps for steal.
describeTwoClients('steal', (clients) => {
  test('gets a free lock', async () => {
    const name = unique('name');
    const stealer = await clients.first.hold(name, STEAL);
    expect(await clients.second.queryOf(name)).toEqual({ held: ['exclusive'], pending: [] });
    expect(await stealer.release('done')).toEqual({ status: 'fulfilled', value: 'done' });
  });

  test('takes the lock from its holder, whose request() rejects with an AbortError while its callback runs', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const victim = await first.hold(name);
    const stealer = await second.hold(name, STEAL);
    expect(await victim.settled).toMatchObject(STOLEN);
    expect(await first.queryOf(name)).toEqual({ held: ['exclusive'], pending: [] });
    await victim.release();
    await stealer.release();
  });

  test('takes a lock of the same client too', async () => {
    const { first } = clients;
    const name = unique('name');
    const victim = await first.hold(name);
    const stealer = await first.hold(name, STEAL);
    expect(await victim.settled).toMatchObject(STOLEN);
    await stealer.release();
  });

  test('takes the lock from all shared holders', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const victims = [
      await first.hold(name, { mode: 'shared' }),
      await second.hold(name, { mode: 'shared' }),
    ];
    const stealer = await second.hold(name, STEAL);
    for (const victim of victims) expect(await victim.settled).toMatchObject(STOLEN);
    expect(await first.queryOf(name)).toEqual({ held: ['exclusive'], pending: [] });
    await stealer.release();
  });

  test('runs before everything that is queued, which stays queued in its order', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const victim = await first.hold(name);
    const queued = [await second.request(name), await first.request(name, { mode: 'shared' })];
    const stealer = await second.hold(name, STEAL);
    expect(await victim.settled).toMatchObject(STOLEN);
    expect(await first.queryOf(name)).toEqual({
      held: ['exclusive'],
      pending: ['exclusive', 'shared'],
    });
    await stealer.release();
    for (const request of queued) {
      await request.granted;
      await request.release();
    }
  });

  test("the victim's late end releases nothing", async () => {
    const { first, second } = clients;
    const name = unique('name');
    const victim = await first.hold(name);
    const stealer = await second.hold(name, STEAL);
    const queued = await second.request(name);
    await victim.release('late');
    expect(await victim.settled).toMatchObject(STOLEN);
    expect(await first.queryOf(name)).toEqual({ held: ['exclusive'], pending: ['exclusive'] });
    await stealer.release();
    await queued.granted;
    await queued.release();
  });

  test('a stealer can be stolen from', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const victim = await first.hold(name);
    const stealer = await second.hold(name, STEAL);
    const secondStealer = await first.hold(name, STEAL);
    expect(await victim.settled).toMatchObject(STOLEN);
    expect(await stealer.settled).toMatchObject(STOLEN);
    await secondStealer.release();
  });

  test('takes nothing under another name', async () => {
    const { first, second } = clients;
    const holder = await first.hold(unique('name'));
    const stealer = await second.hold(unique('name'), STEAL);
    expect(await holder.release('kept')).toEqual({ status: 'fulfilled', value: 'kept' });
    await stealer.release();
  });

  test('the tokens of victim and stealer rise, and the error carries the token of the victim', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const victim = await first.hold(name);
    const stealer = await second.hold(name, STEAL);
    const { token: victimToken } = await victim.granted;
    const { token: stealerToken } = await stealer.granted;
    expect(stealerToken).toBeGreaterThan(victimToken);
    expect((await victim.settled).reason.token).toBe(victimToken);
    await stealer.release();
  });
});

describeOneClient('steal, inside a client', (run) => {
  test(
    'the victim rejects with a LockLostError that is a DOMException',
    run(async ({ locks, assert, name, LockLostError }) => {
      const victim = locks.request(name, () => new Promise(() => {}));
      const rejection = assert.rejects(victim, (error) => {
        assert.ok(error instanceof LockLostError);
        assert.ok(error instanceof DOMException);
        assert.equal(error.name, 'AbortError');
        assert.equal(error.code, DOMException.ABORT_ERR);
        assert.equal(error.reason, 'stolen');
        return true;
      });
      await locks.request(name, { steal: true }, () => rejection);
    }),
  );

  test(
    'a lock that is stolen before its callback ran: the callback runs, request() rejects',
    run(async ({ locks, assert, name }) => {
      let isCalled = false;
      const victim = locks.request(name, () => {
        isCalled = true;
      });
      const stealer = locks.request(name, { steal: true }, () => 'stealer');
      await assert.rejects(victim, { name: 'AbortError' });
      assert.equal(isCalled, true);
      assert.equal(await stealer, 'stealer');
    }),
  );

  test(
    'a callback that ends in the turn of the steal has still lost the lock',
    run(async ({ locks, assert, name }) => {
      let finish;
      let isGranted;
      const granted = new Promise((resolve) => (isGranted = resolve));
      const victim = locks.request(name, () => {
        isGranted();
        return new Promise((resolve) => (finish = resolve));
      });
      await granted;
      const stealer = locks.request(name, { steal: true }, () => {});
      finish('too late');
      await assert.rejects(victim, { name: 'AbortError' });
      await stealer;
    }),
  );

  test(
    'each victim gets a separate error',
    run(async ({ locks, assert, name }) => {
      const shared = () => locks.request(name, { mode: 'shared' }, () => new Promise(() => {}));
      const victims = Promise.allSettled([shared(), shared()]);
      await locks.request(name, { steal: true }, () => {});
      const [one, other] = await victims;
      assert.notEqual(one.reason, other.reason);
    }),
  );

  // "Request a lock": the promises of the holders are rejected, then the queue is processed, which
  // queues the task of the callback.
  test(
    'a steal inside the callback of the victim: its signal, then its promise, then the new holder',
    run(async ({ locks, assert, name, require }) => {
      const channels = require('node:diagnostics_channel');
      const rests = {
        'does not settle': () => new Promise(() => {}),
        'waits for the steal': (stolen) => stolen,
        'returns at once': () => 'returned',
        'returns a promise': async () => 'returned',
      };
      for (const [way, goOn] of Object.entries(rests)) {
        for (const steps of [0, 1]) {
          const events = [];
          const messages = [];
          const subscribers = ['start', 'grant', 'lost', 'end'].map((event) => {
            const note = (message) =>
              message.name === name &&
              messages.push(`${event} of the ${message.steal ? 'stealer' : 'victim'}`);
            return [`locks.request.${event}`, note];
          });
          for (const subscriber of subscribers) channels.subscribe(...subscriber);
          let stolen;
          const victim = locks.request(name, (lock) => {
            lock.signal.addEventListener('abort', () => events.push('the signal aborts'));
            const steal = () => {
              stolen = locks.request(name, { steal: true }, () => {
                assert.equal(lock.signal.reason.name, 'AbortError');
                events.push('the new holder');
              });
              return goOn(stolen);
            };
            return steps === 0 ? steal() : Promise.resolve().then(steal);
          });
          const error = await victim.catch((reason) => {
            events.push('the promise rejects');
            return reason;
          });
          await stolen;
          for (const subscriber of subscribers) channels.unsubscribe(...subscriber);
          assert.equal(error.reason, 'stolen', way);
          assert.deepEqual(
            events,
            ['the signal aborts', 'the promise rejects', 'the new holder'],
            way,
          );
          assert.deepEqual(
            messages,
            [
              'start of the victim',
              'grant of the victim',
              'start of the stealer',
              'lost of the victim',
              'end of the victim',
              'grant of the stealer',
              'end of the stealer',
            ],
            way,
          );
        }
      }
    }),
  );
});
