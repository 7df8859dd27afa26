'use strict';

const { describeOneClient, describeTwoClients, unique } = require('../support/conformance.js');

const ABORTABLE = { isAbortable: true };

// Web Locks, "signal to abort the request" and #algorithm-abort-request.
describeTwoClients('signal', (clients) => {
  test('the abort of a queued request rejects with the reason and takes it out of the queue', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const request = await second.request(name, {}, ABORTABLE);
    expect(await first.queryOf(name)).toEqual({ held: ['exclusive'], pending: ['exclusive'] });
    const outcome = await request.abort('mine');
    expect(outcome).toEqual({ status: 'rejected', reason: { value: 'mine' } });
    expect(await first.queryOf(name)).toEqual({ held: ['exclusive'], pending: [] });
    await holder.release();
  });

  test('an abort without a reason rejects with an AbortError', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const request = await second.request(name, {}, ABORTABLE);
    const outcome = await request.abort();
    expect(outcome).toMatchObject({
      status: 'rejected',
      reason: { name: 'AbortError', isLockLost: false },
    });
    await holder.release();
  });

  test('an aborted request is not granted when the lock becomes free', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const holder = await first.hold(name);
    const aborted = await second.request(name, {}, ABORTABLE);
    const next = await first.request(name);
    await aborted.abort();
    await holder.release();
    await next.granted;
    expect(await first.queryOf(name)).toEqual({ held: ['exclusive'], pending: [] });
    await next.release();
  });

  test('the abort of an exclusive request grants the shared ones that waited behind it', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const reader = await first.hold(name, { mode: 'shared' });
    const writer = await second.request(name, {}, ABORTABLE);
    const lateReader = await first.request(name, { mode: 'shared' });
    await writer.abort();
    await lateReader.granted;
    expect(await first.queryOf(name)).toEqual({ held: ['shared', 'shared'], pending: [] });
    await lateReader.release();
    await reader.release();
  });

  test('after the grant the signal is ignored', async () => {
    const { first, second } = clients;
    const name = unique('name');
    const request = await first.request(name, {}, ABORTABLE);
    await request.granted;
    const waiting = await second.request(name);
    const settled = request.abort();
    expect(await second.queryOf(name)).toEqual({ held: ['exclusive'], pending: ['exclusive'] });
    await request.release('done');
    expect(await settled).toEqual({ status: 'fulfilled', value: 'done' });
    await waiting.granted;
    await waiting.release();
  });
});

describeOneClient('signal, inside a client', (run) => {
  test(
    'an abort straight after request() wins even if the lock was free',
    run(async ({ locks, assert, name, query, notCalled }) => {
      const controller = new AbortController();
      const reason = new Error('mine');
      const request = locks.request(name, { signal: controller.signal }, notCalled);
      controller.abort(reason);
      await assert.rejects(request, (error) => error === reason);
      assert.deepEqual(await query(), { held: [], pending: [] });
    }),
  );

  test(
    'an abort after the grant was decided and before the callback ran: no callback, released',
    run(async ({ locks, assert, name, query, notCalled, decidesAtOnce }) => {
      if (!decidesAtOnce) return; // a grant from elsewhere is received before its release
      const controller = new AbortController();
      let finish;
      let isGranted;
      const granted = new Promise((resolve) => (isGranted = resolve));
      const holder = locks.request(name, () => {
        isGranted();
        return new Promise((resolve) => (finish = resolve));
      });
      await granted;
      const aborted = locks.request(name, { signal: controller.signal }, notCalled);
      const next = locks.request(name, () => 'next');
      finish();
      await holder; // the release has decided for the second request; its callback is still to come
      controller.abort('mine');
      assert.equal(await aborted.catch((reason) => reason), 'mine');
      assert.equal(await next, 'next');
      assert.deepEqual(await query(), { held: [], pending: [] });
    }),
  );

  // Callbacks of locks that are free run in microtasks. After many, the next wait for the loop.
  test(
    'an abort straight after request() has the same effect after many requests',
    run(async ({ locks, assert, name }) => {
      const outcomes = [];
      for (const [at, count] of [0, 300].entries()) {
        const end = performance.now() + 20;
        while (performance.now() < end);
        const others = Array.from({ length: count }, (_, i) =>
          locks.request(`${name} ${i}`, () => {}),
        );
        const controller = new AbortController();
        const { signal } = controller;
        const request = locks.request(name, { signal }, () => {}).catch(({ name: it }) => it);
        controller.abort();
        try {
          outcomes[at] = [locks.requestSync(name, () => 'called')];
        } catch (error) {
          outcomes[at] = [error.name]; // it is held until the callback's turn
        }
        outcomes[at].push(await request);
        await Promise.all(others);
      }
      assert.deepEqual(outcomes[1], outcomes[0]);
      assert.equal(outcomes[0][1], 'AbortError');
    }),
  );

  test(
    'an abort inside the callback is ignored',
    run(async ({ locks, assert, name }) => {
      const controller = new AbortController();
      const result = await locks.request(name, { signal: controller.signal }, async () => {
        controller.abort();
        return 'kept';
      });
      assert.equal(result, 'kept');
    }),
  );

  test(
    'a listener that stops the propagation of the event does not keep the abort from the request',
    run(async ({ locks, assert, name, notCalled }) => {
      const controller = new AbortController();
      controller.signal.addEventListener('abort', (event) => event.stopImmediatePropagation());
      await locks.request(name, async () => {
        const request = locks.request(name, { signal: controller.signal }, notCalled);
        controller.abort('mine');
        assert.equal(await request.catch((reason) => reason), 'mine');
      });
    }),
  );

  test(
    'an event dispatched by hand is no abort, and a real one afterwards is',
    run(async ({ locks, assert, name, query, notCalled }) => {
      const controller = new AbortController();
      await locks.request(name, async () => {
        const request = locks.request(name, { signal: controller.signal }, notCalled);
        controller.signal.dispatchEvent(new Event('abort'));
        assert.deepEqual(await query(), { held: ['exclusive'], pending: ['exclusive'] });
        controller.abort('mine');
        assert.equal(await request.catch((reason) => reason), 'mine');
      });
    }),
  );

  test(
    'one signal ends all the requests that share it and no other',
    run(async ({ locks, assert, name, notCalled }) => {
      const controller = new AbortController();
      const { signal } = controller;
      await locks
        .request(name, async () => {
          const aborted = Array.from({ length: 3 }, () =>
            locks.request(name, { signal }, notCalled),
          );
          const other = locks.request(name, () => 'other');
          controller.abort('mine');
          const outcomes = await Promise.allSettled(aborted);
          for (const outcome of outcomes) {
            assert.deepEqual(outcome, { status: 'rejected', reason: 'mine' });
          }
          return { other };
        })
        .then(async ({ other }) => assert.equal(await other, 'other'));
    }),
  );

  test(
    'a signal serves one request after another',
    run(async ({ locks, assert, name, notCalled }) => {
      const controller = new AbortController();
      const { signal } = controller;
      for (let count = 0; count < 3; count += 1) {
        assert.equal(await locks.request(name, { signal }, () => count), count);
      }
      await locks.request(name, async () => {
        const request = locks.request(name, { signal }, notCalled);
        controller.abort('mine');
        assert.equal(await request.catch((reason) => reason), 'mine');
      });
    }),
  );

  test(
    'AbortSignal.timeout() and AbortSignal.any() are signals',
    run(async ({ locks, assert, name, notCalled }) => {
      const controller = new AbortController();
      await locks.request(name, async () => {
        await assert.rejects(locks.request(name, { signal: AbortSignal.timeout(1) }, notCalled), {
          name: 'TimeoutError',
        });
        const any = AbortSignal.any([controller.signal]);
        const request = locks.request(name, { signal: any }, notCalled);
        controller.abort('mine');
        assert.equal(await request.catch((reason) => reason), 'mine');
      });
    }),
  );

  test(
    'a signal with thousands of requests has one listener at most, and none afterwards',
    run(async ({ locks, assert, name, require }) => {
      const { getEventListeners } = require('node:events');
      const controller = new AbortController();
      const { signal } = controller;
      let requests;
      await locks.request(name, () => {
        requests = Array.from({ length: 5_000 }, () => locks.request(name, { signal }, () => 1));
        assert.ok(getEventListeners(signal, 'abort').length <= 1);
      });
      await Promise.all(requests);
      assert.equal(getEventListeners(signal, 'abort').length, 0);
    }),
  );

  test(
    'thousands of requests end together when their signal aborts',
    run(async ({ locks, assert, name, query, notCalled }) => {
      const controller = new AbortController();
      const { signal } = controller;
      await locks.request(name, async () => {
        const requests = Array.from({ length: 5_000 }, () =>
          locks.request(name, { signal }, notCalled),
        );
        controller.abort('mine');
        const outcomes = await Promise.allSettled(requests);
        assert.ok(outcomes.every(({ reason }) => reason === 'mine'));
        assert.deepEqual(await query(), { held: ['exclusive'], pending: [] });
      });
    }),
  );
});
