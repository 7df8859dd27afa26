'use strict';

const { describeOneClient } = require('../support/conformance.js');

// A test that expects no rejection waits for the rejection of a later deadlock, which the same
// rules find.

describeOneClient('deadlock', (run) => {
  test(
    'a request for the lock whose callback makes it is rejected, also after an await',
    run(async ({ locks, assert, name }) => {
      const outer = locks.request(name, { deadlock: 'reject' }, async () => {
        await new Promise((resolve) => setTimeout(resolve, 1));
        return locks.request(name, { deadlock: 'reject' }, () => 'granted');
      });
      await assert.rejects(outer, ({ name: kind, cycle: [{ name: inCycle }] }) => {
        return kind === 'DeadlockError' && inCycle === name;
      });
    }),
  );

  test(
    'of two with reject in a cycle the younger one is rejected, also if a third request closes it',
    run(async ({ locks, assert, name }) => {
      const all = ['a', 'b', 'c'].map((letter) => `${name} ${letter}`);
      const deadlocks = ['reject', 'reject', 'warn'];
      let holders = 0;
      let start;
      const areHeld = new Promise((resolve) => (start = resolve));
      /** Each asks for the next lock once all locks are held and the requests before it wait. */
      const outcomes = all.map((own, i) =>
        locks.request(own, async () => {
          holders += 1;
          if (holders === all.length) start();
          await areHeld;
          const isPending = ({ pending }) =>
            pending.filter((request) => all.includes(request.name)).length;
          while (isPending(await locks.query()) < i);
          const next = all[(i + 1) % all.length];
          const inner = locks.request(next, { deadlock: deadlocks[i] }, () => 'granted');
          return inner.catch(({ name: kind }) => kind);
        }),
      );
      assert.deepEqual(await Promise.all(outcomes), ['granted', 'DeadlockError', 'granted']);
    }),
  );

  test(
    'a request with ignore is in no cycle',
    run(async ({ locks, assert, name }) => {
      const reject = { deadlock: 'reject' };
      let ended;
      let ignored;
      await locks.request(name, reject, async () => {
        ignored = locks.request(name, { deadlock: 'ignore' }, () => 'granted');
        const { pending } = await locks.inspect();
        assert.deepEqual(
          pending.map(({ enclosingToken }) => enclosingToken),
          [null],
        );
        const later = `${name} later`;
        ended = await locks.request(later, reject, () =>
          locks.request(later, reject, () => 'granted').catch(({ name: kind }) => kind),
        );
      });
      assert.deepEqual([ended, await ignored], ['DeadlockError', 'granted']);
    }),
  );

  test(
    'a cycle that ends within the second is none, in whatever way the request is used',
    run(async ({ locks, assert, name }) => {
      const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
      const warnings = [];
      const { emitWarning } = process; // Jest's `process` has no 'warning' events
      process.emitWarning = (message) => warnings.push(message);
      const ways = [
        (makeRequest) => [makeRequest()],
        (makeRequest) => [makeRequest().catch((error) => error)],
        (makeRequest) => [makeRequest().then((value) => value)],
        (makeRequest) => [makeRequest().finally(() => {})],
        (makeRequest) => [
          makeRequest().then(
            (value) => value,
            (error) => error,
          ),
        ],
        (makeRequest) => [Promise.all([makeRequest()])],
        (makeRequest) => [(async () => await makeRequest())()],
        (makeRequest) => [Promise.race([makeRequest(), new Promise(() => {})])],
        (makeRequest) => [
          new Promise((resolve, reject) => setImmediate(() => makeRequest().then(resolve, reject))),
        ],
        (makeRequest) => [
          new Promise((resolve, reject) =>
            setTimeout(() => makeRequest().then(resolve, reject), 50),
          ),
        ],
      ];
      const outcomes = ways.flatMap((way, i) =>
        ['warn', 'reject'].map(async (deadlock) => {
          const own = `${name} ${i} ${deadlock}`;
          let started;
          await locks.request(own, { deadlock }, async () => {
            started = way(() => locks.request(own, { deadlock }, () => 'granted'));
            await sleep(400); // several checks come in this time
          });
          return String(await started[0]);
        }),
      );
      assert.deepEqual(
        await Promise.all(outcomes),
        outcomes.map(() => 'granted'),
      );
      process.emitWarning = emitWarning;
      assert.deepEqual(warnings, []);
    }),
  );

  test(
    'work that a callback left behind is not inside it once its promise has settled',
    run(async ({ locks, assert, name }) => {
      const other = `${name} other`;
      let goOn;
      let leftBehind;
      await locks.request(name, { deadlock: 'reject' }, async () => {
        const isOver = new Promise((resolve) => (goOn = resolve));
        leftBehind = isOver.then(() => locks.request(other, { deadlock: 'reject' }, () => {}));
      });
      await locks.request(other, async () => {
        goOn();
        let pending = [];
        while (pending.length === 0) ({ pending } = await locks.inspect());
        assert.equal(pending[0].enclosingToken, null);
      });
      await leftBehind;
    }),
  );

  test(
    'a warning says on what the deadlock depends, and what to pass',
    run(async ({ locks, assert, name }) => {
      const controller = new AbortController();
      const { emitWarning } = process;
      const warned = new Promise((resolve) => {
        process.emitWarning = (message, { code }) => resolve({ code, message });
      });
      const outer = locks.request(name, { deadlock: 'warn' }, () =>
        locks.request(name, { signal: controller.signal }, () => {}).catch(() => 'ended'),
      );
      const { code, message } = await warned;
      process.emitWarning = emitWarning;
      controller.abort();
      assert.equal(await outer, 'ended');
      assert.equal(code, 'HOLDFAST_DEADLOCK');
      assert.ok(message.includes(`if the callback of '${name}' awaits this request`), message);
      assert.ok(message.includes("otherwise pass `deadlock: 'ignore'`"), message);
    }),
  );

  test(
    'a promise of a request inside is a promise like others',
    run(async ({ locks, assert, name }) => {
      await locks.request(name, async () => {
        const inner = locks.request(name, { timeout: 1 }, () => {});
        assert.equal(Object.getPrototypeOf(inner), Promise.prototype);
        assert.deepEqual(Object.keys(inner), []);
        const derived = inner.then(() => 1).catch(({ name: kind }) => kind);
        assert.equal(await derived, 'TimeoutError');
      });
    }),
  );
});
