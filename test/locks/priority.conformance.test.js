'use strict';

const { describeOneClient, describeTwoClients, unique } = require('../support/conformance.js');

const BACKGROUND = { priority: 'background' };
const URGENT = { priority: 'user-blocking' };
const SHARED = { mode: 'shared' };
const MAX_OVERTAKES = 16;

/** Releases the holder, and then each of the requests, which have to be granted in this order. */
async function expectOrder(holder, requests) {
  await holder.release();
  const granted = [];
  for (const request of requests) request.granted.then(() => granted.push(request));
  for (const [i, request] of requests.entries()) {
    await request.granted;
    expect(granted.map((it) => requests.indexOf(it))).toEqual([...Array(i + 1).keys()]);
    await request.release();
  }
}

describeTwoClients('priority', (clients) => {
  test('requests are granted by priority, then by age', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const low = await first.request(name, BACKGROUND);
    const plain = await second.request(name);
    const urgent = await first.request(name, URGENT);
    const low2 = await second.request(name, BACKGROUND);
    const urgent2 = await second.request(name, URGENT);
    const plain2 = await first.request(name, { priority: 'user-visible' });
    await expectOrder(holder, [urgent, urgent2, plain, plain2, low, low2]);
  });

  test('requests of both modes are in one queue, and query() shows its order', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const low = await second.request(name, { ...BACKGROUND, ...SHARED });
    const plain = await first.request(name);
    const urgent = await second.request(name, { ...URGENT, ...SHARED });
    expect(await first.queryOf(name)).toEqual({
      held: ['exclusive'],
      pending: ['shared', 'exclusive', 'shared'],
    });
    await expectOrder(holder, [urgent, plain, low]);
  });

  test(`a request is overtaken ${MAX_OVERTAKES} times at most`, async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const low = await first.request(name, BACKGROUND);
    const urgent = [];
    for (let i = 0; i <= MAX_OVERTAKES; i += 1) {
      urgent.push(await [first, second][i % 2].request(name, URGENT));
    }
    const last = urgent.pop();
    await expectOrder(holder, [...urgent, low, last]);
  });

  test('inspect() shows the priority, and how often a request was overtaken', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name, URGENT);
    const low = await first.request(name, BACKGROUND);
    const plain = await second.request(name);
    const urgent = await second.request(name, URGENT);
    const { held, pending } = await first.inspectionOf(name);
    expect(held).toMatchObject([{ priority: 'user-blocking', overtakes: 0 }]);
    expect(pending).toMatchObject([
      { priority: 'user-blocking', overtakes: 0 },
      { priority: 'user-visible', overtakes: 1 },
      { priority: 'background', overtakes: 2 },
    ]);
    await expectOrder(holder, [urgent, plain, low]);
  });

  test('a request that goes first is granted at once beside the holders', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name, SHARED);
    const writer = await second.request(name);
    const reader = await second.hold(name, { ...SHARED, ...URGENT });
    const other = await first.request(name, { ...SHARED, ...URGENT, ifAvailable: true });
    expect(await other.granted).toMatchObject({ name });
    const refused = await first.request(name, { ...SHARED, ifAvailable: true });
    expect(await refused.granted).toBeNull();
    await refused.release();
    await other.release();
    await reader.release();
    await expectOrder(holder, [writer]);
  });

  test('the queue stays strict: an urgent request that has to wait keeps the others back', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name, SHARED);
    const low = await first.request(name, BACKGROUND);
    const writer = await second.request(name, URGENT);
    const reader = await first.request(name, SHARED);
    expect(await second.queryOf(name)).toEqual({
      held: ['shared'],
      pending: ['exclusive', 'shared', 'exclusive'],
    });
    await expectOrder(holder, [writer, reader, low]);
  });

  test('counts for requests with a limit', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const limited = { mode: 'shared', limit: 1 };
    const holder = await first.hold(name, limited);
    const plain = await first.request(name, limited);
    const urgent = await second.request(name, { ...limited, ...URGENT });
    await expectOrder(holder, [urgent, plain]);
  });

  test('a waiting request follows the priority of its TaskSignal', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const one = await first.request(name, {}, { priority: 'background' });
    const two = await second.request(name);
    const three = await second.request(name, {}, { priority: 'user-blocking' });
    const four = await first.request(name);
    await one.setPriority('user-blocking');
    await three.setPriority('background');
    await expectOrder(holder, [one, two, four, three]);
  });

  test('a rise moves no request back', async () => {
    if (!clients.movesFromItsPosition) return;
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const low = await first.request(name, BACKGROUND);
    const plain = [];
    for (let i = 0; i < MAX_OVERTAKES - 1; i += 1) plain.push(await second.request(name));
    const risen = await second.request(name, {}, { priority: 'user-visible' });
    await risen.setPriority('user-blocking');
    await expectOrder(holder, [risen, ...plain, low]);
  });

  test('a change can make it the first, which is granted', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name, SHARED);
    const writer = await second.request(name);
    const reader = await second.request(name, SHARED, { priority: 'background' });
    await reader.setPriority('user-blocking');
    await reader.granted;
    await reader.release();
    await expectOrder(holder, [writer]);
  });

  test('requestSync() goes ahead of an earlier request', async () => {
    const { first, second } = clients;
    if (!clients.hasSecondHost) return; // both would be blocked
    const name = unique('name');
    const holder = await first.hold(name);
    const plain = await first.request(name);
    const token = second.run(
      ({ locks, name: shared }) =>
        locks.requestSync(shared, { priority: 'user-blocking' }, (lock) => lock.token),
      name,
    );
    while ((await first.queryOf(name)).pending.length < 2);
    await holder.release();
    const plainToken = plain.granted.then(async (lock) => {
      await plain.release();
      return lock.token;
    });
    expect(await token).toBeLessThan(await plainToken);
  });

  test('a change can let those behind it through', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name, SHARED);
    const writer = await second.request(name, {}, { priority: 'user-visible' });
    const reader = await first.request(name, SHARED);
    await writer.setPriority('background');
    await reader.granted;
    await reader.release();
    await expectOrder(holder, [writer]);
  });
});

describeTwoClients('requests with one signal', (clients) => {
  /** The order of their grants, if their priority falls while they wait behind an own lock. */
  async function ordersAfterFall({ TaskController, locks, name }) {
    const orders = {};
    for (const mode of ['exclusive', 'shared']) {
      const controller = new TaskController({ priority: 'user-blocking' });
      const { signal } = controller;
      const holder = await locks.acquire(name, { mode });
      const order = (orders[mode] = []);
      const requests = ['exclusive', 'shared', 'exclusive'].map((own, i) =>
        locks.request(name, { mode: own, signal }, () => order.push(i)),
      );
      await locks.query();
      controller.setPriority('background');
      await locks.query();
      holder.release();
      await Promise.all(requests);
    }
    return orders;
  }

  test('keep their order when its priority falls', async () => {
    const { exclusive, shared } = await clients.first.run(ordersAfterFall);
    expect(exclusive).toEqual([0, 1, 2]);
    // Beside the shared holder, the second one is granted if the first one falls before it.
    if (clients.movesFromItsPosition) expect(shared).toEqual([0, 1, 2]);
  });
});

describeOneClient('priority', (run) => {
  test(
    'the option goes before the signal',
    run(async ({ TaskController, assert, locks, name }) => {
      const order = [];
      const { signal } = new TaskController({ priority: 'background' });
      await locks.request(name, async () => {
        const requests = [
          locks.request(name, () => order.push('plain')),
          locks.request(name, { signal }, () => order.push('signal')),
          locks.request(name, { signal, priority: 'user-blocking' }, () => order.push('option')),
        ];
        await locks.query();
        void Promise.all(requests);
      });
      await locks.request(name, { priority: 'background' }, () => {});
      assert.deepEqual(order, ['option', 'plain', 'signal']);
    }),
  );

  test(
    'acquire() takes the option',
    run(async ({ assert, locks, name }) => {
      const order = [];
      const holder = await locks.acquire(name);
      const requests = ['background', undefined, 'user-blocking'].map(async (priority) => {
        const handle = await locks.acquire(name, { priority });
        order.push(priority);
        handle.release();
      });
      await locks.query();
      holder.release();
      await Promise.all(requests);
      assert.deepEqual(order, ['user-blocking', undefined, 'background']);
    }),
  );

  test(
    'requestAll() has the priority for each of its names',
    run(async ({ assert, locks, name }) => {
      const order = [];
      const names = [`${name} 1`, `${name} 2`];
      const [one, two] = [await locks.acquire(names[0]), await locks.acquire(names[1])];
      const requests = [
        locks.request(names[0], () => order.push('one')),
        locks.request(names[1], () => order.push('two')),
        locks.requestAll(names, { priority: 'user-blocking' }, () => order.push('all')),
      ];
      const waitFor = async (wanted) => {
        while ((await locks.query()).pending.filter((it) => it.name === wanted).length < 2)
          await new Promise((resolve) => setImmediate(resolve));
      };
      await waitFor(names[0]);
      one.release();
      await waitFor(names[1]);
      two.release();
      await Promise.all(requests);
      assert.equal(order[0], 'all');
    }),
  );

  test(
    'requestAll() has the priority of its TaskSignal in each wait',
    run(async ({ TaskController, assert, locks, name }) => {
      const order = [];
      const names = [`${name} 1`, `${name} 2`];
      const [one, two] = [await locks.acquire(names[0]), await locks.acquire(names[1])];
      const controller = new TaskController({ priority: 'background' });
      const { signal } = controller;
      const requests = [
        locks.requestAll(names, { signal }, () => order.push('all')),
        locks.request(names[0], () => order.push('one')),
        locks.request(names[1], () => order.push('two')),
      ];
      const waitFor = async (wanted) => {
        while ((await locks.query()).pending.filter((it) => it.name === wanted).length < 2)
          await new Promise((resolve) => setImmediate(resolve));
      };
      await waitFor(names[0]);
      controller.setPriority('user-blocking');
      await locks.query();
      one.release();
      await waitFor(names[1]);
      two.release();
      await Promise.all(requests);
      assert.equal(order[0], 'all');
    }),
  );

  test(
    'an urgent requestSync() is granted at once beside shared holders',
    run(async ({ assert, locks, name }) => {
      const holder = await locks.acquire(name, { mode: 'shared' });
      const writer = locks.request(name, () => 'written');
      await locks.query();
      const options = { mode: 'shared', priority: 'user-blocking' };
      assert.equal(
        locks.requestSync(name, options, (lock) => lock.mode),
        'shared',
      );
      holder.release();
      assert.equal(await writer, 'written');
    }),
  );

  test(
    'requestSync() takes no TaskSignal',
    run(async ({ TaskController, assert, locks, name, notCalled }) => {
      const { signal } = new TaskController({ priority: 'user-blocking' });
      assert.throws(() => locks.requestSync(name, { signal }, notCalled), {
        name: 'NotSupportedError',
      });
    }),
  );

  test(
    'Mutex and Semaphore take the option',
    run(async ({ Mutex, Semaphore, assert, locks, name }) => {
      for (const lock of [
        new Mutex(name, { manager: locks }),
        new Semaphore(name, 1, { manager: locks }),
      ]) {
        const order = [];
        const release = await lock.acquire();
        const urgent = async () => {
          const end = await lock.acquire({ priority: 'user-blocking' });
          order.push('urgent');
          end();
        };
        const requests = [
          lock.runExclusive(() => order.push('low'), { priority: 'background' }),
          lock.runExclusive(() => order.push('plain')),
          lock.runShared(() => order.push('shared'), { priority: 'user-blocking' }),
          urgent(),
        ];
        await locks.query();
        release();
        await Promise.all(requests);
        assert.deepEqual(order, ['shared', 'urgent', 'plain', 'low']);
      }
    }),
  );

  test(
    'requests of Mutex and Semaphore follow a TaskSignal',
    run(async ({ Mutex, Semaphore, TaskController, assert, locks, name }) => {
      for (const lock of [
        new Mutex(name, { manager: locks }),
        new Semaphore(name, 1, { manager: locks }),
      ]) {
        const order = [];
        const controller = new TaskController({ priority: 'background' });
        const { signal } = controller;
        const release = await lock.acquire();
        const requests = [
          lock.runExclusive(() => order.push('follows'), { signal }),
          lock.runExclusive(() => order.push('plain')),
        ];
        await locks.query();
        controller.setPriority('user-blocking');
        await locks.query();
        release();
        await Promise.all(requests);
        assert.deepEqual(order, ['follows', 'plain']);
      }
    }),
  );

  test(
    'of a TaskSignal with `blocking: false` the priority counts',
    run(async ({ Mutex, TaskController, assert, locks, name }) => {
      const mutex = new Mutex(name, { manager: locks });
      const release = await mutex.acquire({ mode: 'shared' });
      const writer = mutex.runExclusive(() => 'written');
      await locks.query();
      const tryWith = (priority) => {
        const { signal } = new TaskController({ priority });
        return mutex.runShared(() => 'read', { blocking: false, signal });
      };
      assert.equal(await tryWith('user-blocking'), 'read');
      await assert.rejects(tryWith('user-visible'), { reason: 'held' });
      release();
      assert.equal(await writer, 'written');
    }),
  );

  test(
    'another value is a TypeError',
    run(async ({ assert, locks, name }) => {
      for (const priority of ['urgent', '', null, 1]) {
        await assert.rejects(
          locks.request(name, { priority }, () => {}),
          TypeError,
        );
      }
    }),
  );
});
