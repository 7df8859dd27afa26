'use strict';

// The priority of lock.signal: priority inheritance.

const { describeOneClient, describeTwoClients, unique } = require('../support/conformance.js');

const BACKGROUND = { priority: 'background' };
const URGENT = { priority: 'user-blocking' };
const SHARED = { mode: 'shared' };
const REPORTED = { reportsPriority: true };

/** Releases each of the requests, which are granted in this order. */
async function endAll(...requests) {
  for (const request of requests) {
    await request.granted;
    await request.release();
  }
}

describeTwoClients('the priority of lock.signal', (clients) => {
  test('is the one of the request while none waits', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const low = await first.hold(name, { ...SHARED, ...BACKGROUND }, REPORTED);
    const plain = await second.hold(name, SHARED, REPORTED);
    const urgent = await first.hold(name, { ...SHARED, ...URGENT }, REPORTED);
    await low.hasPriority('background');
    await plain.hasPriority('user-visible');
    await urgent.hasPriority('user-blocking');
    await endAll(low, plain, urgent);
  });

  test('rises with the requests that wait, and falls when they leave', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name, BACKGROUND, REPORTED);
    await holder.hasPriority('background');
    const plain = await second.request(name, {}, { isAbortable: true });
    await holder.hasPriority('user-visible');
    const urgent = await second.request(name, URGENT, { isAbortable: true });
    await holder.hasPriority('user-blocking');
    await urgent.abort();
    await holder.hasPriority('user-visible');
    await plain.abort();
    await holder.hasPriority('background');
    await endAll(holder);
  });

  test('counts a request that waits already', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const earlier = await first.hold(name);
    const holder = await second.request(name, {}, REPORTED);
    const low = await second.request(name, BACKGROUND);
    await earlier.release();
    await holder.granted;
    await holder.hasPriority('user-visible');
    const urgent = await first.request(name, URGENT);
    await holder.hasPriority('user-blocking');
    await endAll(holder, urgent, low);
  });

  test('does not fall below the one of the request', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name, {}, REPORTED);
    const low = await second.request(name, BACKGROUND);
    const urgent = await second.request(name, URGENT, { isAbortable: true });
    await holder.hasPriority('user-blocking');
    await urgent.abort();
    await holder.hasPriority('user-visible');
    await endAll(holder, low);
  });

  test('follows a request that changes its priority while it waits', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name, BACKGROUND, REPORTED);
    const waiting = await second.request(name, {}, BACKGROUND);
    await waiting.setPriority('user-blocking');
    await holder.hasPriority('user-blocking');
    await waiting.setPriority('user-visible');
    await holder.hasPriority('user-visible');
    await endAll(holder, waiting);
  });

  test("follows the priority of its request's signal", async () => {
    const { first } = clients;
    const name = unique('name');
    const holder = await first.hold(name, {}, { ...BACKGROUND, ...REPORTED });
    await holder.hasPriority('background');
    await holder.setPriority('user-blocking');
    await holder.hasPriority('user-blocking');
    await endAll(holder);
  });

  test('is inherited by each of several holders, and by a later one', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holders = [
      await first.hold(name, { ...SHARED, ...BACKGROUND }, REPORTED),
      await second.hold(name, { ...SHARED, ...BACKGROUND }, REPORTED),
    ];
    const next = await first.request(name, BACKGROUND, REPORTED);
    const last = await second.request(name, BACKGROUND, { priority: 'background' });
    for (const holder of holders) await holder.hasPriority('background');
    const urgent = await second.request(name, { ...URGENT, ...SHARED });
    await urgent.granted;
    const writer = await second.request(name, URGENT);
    for (const holder of holders) await holder.hasPriority('user-blocking');
    await endAll(...holders, urgent, writer);
    await next.granted;
    await next.hasPriority('background');
    await endAll(next, last);
  });

  test('falls when an urgent request has been granted beside it', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const writer = await first.hold(name);
    const holder = await second.request(name, { ...SHARED, ...BACKGROUND }, REPORTED);
    const limited = await first.request(name, { ...SHARED, ...URGENT, limit: 1 });
    await writer.release();
    await limited.granted;
    await limited.release();
    await holder.granted;
    const blocked = await first.request(name, { ...SHARED, ...URGENT, limit: 1 });
    await holder.hasPriority('user-blocking');
    await holder.release();
    await endAll(blocked);
  });

  test('of a lost lock is the one of the request', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const victim = await first.hold(name, BACKGROUND, { ...REPORTED, reportsLoss: true });
    const urgent = await second.request(name, URGENT);
    await victim.hasPriority('user-blocking');
    const stealer = await second.hold(name, { steal: true });
    await victim.lost;
    await victim.hasPriority('background');
    await victim.release();
    await stealer.release();
    await endAll(urgent);
  });
});

describeOneClient('the priority of lock.signal in one client', (run) => {
  test(
    'is a TaskSignal, and tasks that are posted with it run at the inherited priority',
    run(async ({ locks, assert, name, scheduler, TaskSignal }) => {
      const order = [];
      let waiting;
      await locks.request(name, { priority: 'background' }, async ({ signal }) => {
        assert.ok(signal instanceof TaskSignal);
        assert.ok(signal instanceof AbortSignal);
        assert.equal(signal.priority, 'background');
        const risen = new Promise((resolve) => {
          signal.onprioritychange = ({ previousPriority }) => {
            assert.equal(previousPriority, 'background');
            resolve();
          };
        });
        waiting = locks.request(name, { priority: 'user-blocking', deadlock: 'ignore' }, () => {});
        await risen;
        assert.equal(signal.priority, 'user-blocking');
        const tasks = [
          scheduler.postTask(() => order.push('visible')),
          scheduler.postTask(() => order.push('inherited'), { signal }),
        ];
        await Promise.all(tasks);
        signal.onprioritychange = null;
      });
      await waiting;
      assert.deepEqual(order, ['inherited', 'visible']);
    }),
  );

  test(
    'a task that waits moves when its lock inherits a priority',
    run(async ({ locks, assert, name, scheduler }) => {
      const order = [];
      let waiting;
      await locks.request(name, { priority: 'background' }, async ({ signal }) => {
        const inherited = scheduler.postTask(() => order.push('inherited'), { signal });
        let isOver = false;
        const busy = (async () => {
          for (let i = 0; i < 100_000 && !isOver; i += 1) await scheduler.postTask(() => {});
          order.push('busy');
        })();
        waiting = locks.request(name, { priority: 'user-blocking', deadlock: 'ignore' }, () => {});
        await inherited;
        isOver = true;
        await busy;
      });
      await waiting;
      assert.deepEqual(order, ['inherited', 'busy']);
    }),
  );

  test(
    'yield() in such a task has the inherited priority',
    run(async ({ locks, assert, name, scheduler }) => {
      const order = [];
      let waiting;
      await locks.request(name, { priority: 'background' }, ({ signal }) => {
        waiting = locks.request(name, { priority: 'user-blocking', deadlock: 'ignore' }, () => {});
        const risen = new Promise((resolve) => {
          if (signal.priority === 'user-blocking') resolve();
          else signal.addEventListener('prioritychange', resolve, { once: true });
        });
        return risen.then(() =>
          scheduler.postTask(
            async () => {
              const visible = scheduler.postTask(() => order.push('visible'));
              await scheduler.yield();
              order.push('inherited');
              await visible;
            },
            { signal },
          ),
        );
      });
      await waiting;
      assert.deepEqual(order, ['inherited', 'visible']);
    }),
  );

  test(
    'falls to the one of the request at the release',
    run(async ({ locks, assert, name }) => {
      let kept;
      let waiting;
      await locks.request(name, { priority: 'background' }, async ({ signal }) => {
        kept = signal;
        const risen = new Promise((resolve) => {
          signal.addEventListener('prioritychange', resolve, { once: true });
        });
        waiting = locks.request(name, { deadlock: 'ignore' }, () => {});
        await risen;
        assert.equal(signal.priority, 'user-visible');
      });
      await waiting;
      assert.equal(kept.priority, 'background');
      assert.equal(kept.aborted, false);
    }),
  );

  test(
    'of a handle',
    run(async ({ locks, assert, name }) => {
      const handle = await locks.acquire(name, { priority: 'background' });
      const { signal } = handle;
      const risen = new Promise((resolve) => {
        signal.addEventListener('prioritychange', resolve, { once: true });
      });
      const waiting = locks.request(name, { priority: 'user-blocking' }, () => 'next');
      await risen;
      assert.equal(signal.priority, 'user-blocking');
      handle.release();
      assert.equal(await waiting, 'next');
      assert.equal(signal.priority, 'background');
    }),
  );

  test(
    'a nested request with the signal passes the priority on to the holder that it waits for',
    run(async ({ locks, assert, name }) => {
      const inner = `${name} inner`;
      let holdsInner;
      let urgent;
      const risen = new Promise((resolve) => {
        holdsInner = locks.request(inner, { priority: 'background' }, async ({ signal }) => {
          await new Promise((rise) => {
            const check = () => signal.priority === 'user-blocking' && rise();
            signal.addEventListener('prioritychange', check);
          });
          resolve();
        });
      });
      await locks.request(name, { priority: 'background' }, async ({ signal }) => {
        const nested = locks.request(inner, { signal }, () => 'inner');
        urgent = locks.request(name, { priority: 'user-blocking', deadlock: 'ignore' }, () => {});
        await risen;
        assert.equal(await nested, 'inner');
      });
      await Promise.all([holdsInner, urgent]);
    }),
  );

  test(
    'inside a reentrant request requests that wait for the lock outside count',
    run(async ({ locks, assert, name }) => {
      let waiting;
      await locks.request(name, { reentrant: true, priority: 'background' }, () =>
        locks.request(name, { reentrant: true, priority: 'background' }, async ({ signal }) => {
          assert.equal(signal.priority, 'background');
          const risen = new Promise((resolve) => {
            signal.addEventListener('prioritychange', resolve, { once: true });
          });
          waiting = locks.request(
            name,
            { priority: 'user-blocking', deadlock: 'ignore' },
            () => {},
          );
          await risen;
          assert.equal(signal.priority, 'user-blocking');
        }),
      );
      await waiting;
    }),
  );

  test(
    'the first task with the signal of a handle inherits it',
    run(async ({ locks, assert, name, scheduler }) => {
      const order = [];
      const handle = await locks.acquire(name, { priority: 'background' });
      const inherited = scheduler.postTask(() => order.push('inherited'), {
        signal: handle.signal,
      });
      let isOver = false;
      const busy = (async () => {
        for (let i = 0; i < 100_000 && !isOver; i += 1) await scheduler.postTask(() => {});
        order.push('busy');
      })();
      const waiting = locks.request(name, { priority: 'user-blocking' }, () => {});
      await inherited;
      isOver = true;
      await busy;
      handle.release();
      await waiting;
      assert.deepEqual(order, ['inherited', 'busy']);
    }),
  );

  test(
    'inside a reentrant request it falls again, if it had risen before the request',
    run(async ({ locks, assert, name }) => {
      const becomes = (signal, priority) =>
        new Promise((resolve) => {
          const check = () => signal.priority === priority && resolve();
          signal.addEventListener('prioritychange', check);
          check();
        });
      const options = { reentrant: true, priority: 'background' };
      await locks.request(name, options, async (outer) => {
        const controller = new AbortController();
        const urgent = { priority: 'user-blocking', deadlock: 'ignore', signal: controller.signal };
        const waiting = locks.request(name, urgent, () => {}).catch(() => {});
        await becomes(outer.signal, 'user-blocking');
        await locks.request(name, options, async (inner) => {
          assert.equal(inner.signal.priority, 'user-blocking');
          controller.abort();
          await waiting;
          await becomes(inner.signal, 'background');
        });
      });
    }),
  );

  test(
    'tasks with the signal that wait reject with the LockLostError when the lock is lost',
    run(async ({ locks, assert, name, scheduler, LockLostError, notCalled }) => {
      let tasks;
      let signal;
      const lost = locks.request(name, (lock) => {
        ({ signal } = lock);
        tasks = Promise.allSettled([
          scheduler.postTask(notCalled, { signal, delay: 600_000 }),
          scheduler.postTask(notCalled, { signal, delay: 600_000, priority: 'background' }),
        ]);
        return new Promise(() => {});
      });
      const rejected = assert.rejects(lost, LockLostError);
      while (tasks === undefined) await new Promise((resolve) => setImmediate(resolve));
      await locks.request(name, { steal: true }, () => {});
      await rejected;
      const settled = await tasks;
      assert.deepEqual(
        settled.map(({ reason }) => reason),
        [signal.reason, signal.reason],
      );
      assert.ok(signal.reason instanceof LockLostError);
      await assert.rejects(scheduler.postTask(notCalled, { signal }), LockLostError);
    }),
  );

  test(
    'yield() in a task with the signal rejects with the LockLostError when the lock is lost',
    run(async ({ locks, assert, name, scheduler, LockLostError }) => {
      let task;
      const lost = locks.request(name, ({ signal }) => {
        const yieldForEver = async () => {
          for (;;) await scheduler.yield();
        };
        task = scheduler.postTask(yieldForEver, { signal });
        return new Promise(() => {});
      });
      const rejected = assert.rejects(lost, LockLostError);
      while (task === undefined) await new Promise((resolve) => setImmediate(resolve));
      const ended = assert.rejects(task, LockLostError);
      await locks.request(name, { steal: true }, () => {});
      await Promise.all([rejected, ended]);
    }),
  );

  test(
    'a listener may change the priority of the signal that the request follows',
    run(async ({ locks, assert, name, TaskController }) => {
      const controller = new TaskController({ priority: 'background' });
      const events = [];
      controller.signal.addEventListener('prioritychange', () => events.push('controller'));
      let waiting;
      await locks.request(name, { signal: controller.signal }, async ({ signal }) => {
        const risen = new Promise((resolve) => {
          signal.addEventListener('prioritychange', () => {
            events.push(signal.priority);
            if (signal.priority === 'user-visible') controller.setPriority('user-blocking');
            else resolve();
          });
        });
        waiting = locks.request(name, { deadlock: 'ignore' }, () => {});
        await risen;
      });
      await waiting;
      assert.deepEqual(events.slice(0, 3), ['user-visible', 'controller', 'user-blocking']);
    }),
  );

  test(
    'a use after the release observes nothing',
    run(async ({ locks, assert, name, TaskController }) => {
      const controller = new TaskController({ priority: 'background' });
      const lock = await locks.request(name, { signal: controller.signal }, (held) => held);
      assert.equal(lock.signal.priority, 'background');
      controller.setPriority('user-blocking');
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(lock.signal.priority, 'background');
    }),
  );
});
