'use strict';

const { CommandLine } = require('./cli.js');
const { ENGINES, sleep } = require('./bad-days-engines.js');
const { describeInside } = require('./namespaces.js');
const { isRunning } = require('./process-actor.js');

// The bad days of docs/bad-days.md: one suite for all backends.

/** Of a session that ends while its server is away. */
const SHORT_TTL_S = 2;
/** More take too long for a test of each change: 100,000 were run by hand, see the page. */
const MANY = 20_000;
/** They take seconds of processor time, which a busy machine gives in minutes. */
const MANY_WATCHDOG_MS = 600_000;
const LONG = 'n'.repeat(2048);
const QUOTA = 4 * 2 ** 20;
const FEW_DESCRIPTORS = ['sh', '-c', 'ulimit -n 128; exec "$0" "$@"'];

const nameOf = (promise) => promise.then(() => 'fulfilled').catch(({ name }) => name);
const untilEmpty = async (locks) => {
  const isEmpty = ({ held, pending }) => held.length + pending.length === 0;
  while (!isEmpty(await locks.query())) await sleep(1);
};
const untilFree = (locks, name) => locks.request(name, () => 'granted');

const AT_ITS_END = { end: 0, errors: '' };
const CLOSED = ['AbortError', 'AbortError', 'AbortError'];
const LOST = { name: 'LockLostError', reason: 'disconnected' };

/** Programs that close their lock manager in the middle of something. */
const CLOSERS = {
  entering: async ({ locks, say }) => {
    const nameIt = (promise) => promise.then(() => 'fulfilled').catch(({ name }) => name);
    const requests = [
      locks.request('a', () => {}),
      locks.acquire('b'),
      locks.requestAll(['c', 'd'], () => {}),
    ];
    const queries = [locks.query(), locks.inspect()];
    locks.close();
    await say(await Promise.all([...requests, ...queries].map(nameIt)));
  },

  waiting: async ({ locks, open, say }) => {
    const nameIt = (promise) => promise.then(() => 'fulfilled').catch(({ name }) => name);
    const holder = open();
    const held = await holder.acquire('a');
    const requests = [
      locks.request('a', () => {}),
      locks.acquire('a'),
      locks.requestAll(['a', 'b'], () => {}),
    ];
    while ((await locks.query()).pending.length < requests.length);
    locks.close();
    await say(await Promise.all(requests.map(nameIt)));
    held.release();
    holder.close();
  },

  holding: async ({ locks, say }) => {
    let finish;
    let lock;
    const request = locks.request('a', (granted) => {
      lock = granted;
      return new Promise((resolve) => (finish = resolve));
    });
    const handle = await locks.acquire('b');
    locks.close();
    const { name, reason } = await request.catch((error) => error);
    finish();
    const reasons = [lock.signal.reason.reason, handle.signal.reason.reason];
    await say([{ name, reason }, reasons, await handle.release()]);
  },

  releasing: async ({ locks, say }) => {
    let finish;
    const request = locks.request('a', () => new Promise((resolve) => (finish = resolve)));
    const handle = await locks.acquire('b');
    finish('done');
    const released = handle.release();
    await new Promise(setImmediate); // the release is under way
    locks.close();
    await say([await request, await released]);
  },

  watching: async ({ locks, say }) => {
    const reads = [locks.watch('c'), locks.watch('a')].map((watch) => watch.next());
    await locks.query();
    reads.push(locks.watch('b').next());
    locks.close();
    await say(await Promise.all(reads));
  },

  inside: async ({ locks, say }) => {
    const nameIt = (promise) => promise.then(() => 'fulfilled').catch(({ name }) => name);
    const calls = ['request', 'query', 'isLocked', 'watch', 'requestSync', 'inspect'];
    const first = await nameIt(locks.request('a', () => locks.close()));
    const later = calls.map((call) => nameIt((async () => locks[call]('a', () => {}))()));
    await say([first, ...new Set(await Promise.all(later))]);
  },
};

/** The values that they say, if all backends say the same. */
const SAID = {
  waiting: CLOSED,
  holding: [LOST, ['disconnected', 'disconnected'], undefined],
  releasing: ['done', undefined],
  watching: Array.from({ length: 3 }, () => ({ value: undefined, done: true })),
  inside: ['LockLostError', 'InvalidStateError'],
};
const LOSSES = ['LockLostError', 'LockLostError', 'LockLostError', 'fulfilled', 'fulfilled'];
const ABORTS = [...CLOSED, 'InvalidStateError', 'InvalidStateError'];

/** @param {() => any} engineOf @param {any} Kind */
function defineClosing(engineOf, Kind) {
  describe('close() in the middle: all settles, the program ends, the locks are free', () => {
    test.each(Object.keys(CLOSERS))('%s', async (what) => {
      const engine = engineOf();
      const program = engine.run(CLOSERS[what]);
      const said = await program.said();
      const entering = Kind.grantsAtOnce ? LOSSES : ABORTS;
      expect(said).toEqual(SAID[what] ?? entering);
      expect(await program.ended).toEqual(AT_ITS_END); // and no rejection is unhandled
      if (Kind.isOfOneThread) return;
      const locks = engine.open();
      const grants = ['a', 'b', 'c', 'd'].map((name) => untilFree(locks, name));
      expect(await Promise.all(grants)).toEqual(Array(4).fill('granted'));
    });

    if (!Kind.hasServer) return;
    test('beside a server that is stopped', async () => {
      const engine = engineOf();
      const other = engine.open(SHORT_TTL_S);
      await other.query();
      const program = engine.run(
        async ({ locks, say, received }) => {
          const nameIt = (promise) => promise.then(() => 'fulfilled').catch(({ name }) => name);
          const held = await locks.acquire('a');
          const read = locks.watch('z').next();
          const waiting = locks.request('a', () => {});
          await locks.query();
          await say('holding');
          await received();
          const entering = locks.request('b', () => {});
          const query = locks.query();
          locks.close();
          const names = await Promise.all([waiting, entering, query].map(nameIt));
          await say([...names, held.signal.reason.reason, (await read).done]);
        },
        { ttlS: SHORT_TTL_S },
      );
      expect(await program.said()).toBe('holding');
      await engine.silence();
      program.report('continue');
      const said = ['AbortError', 'AbortError', 'InvalidStateError', 'disconnected', true];
      expect(await program.said()).toEqual(said);
      expect(await program.ended).toEqual(AT_ITS_END);
      engine.resume();
      expect(await untilFree(other, 'a')).toBe('granted');
    });
  });
}

/** @param {() => any} engineOf @param {any} Kind */
function defineServer(engineOf, Kind) {
  /**
   * A holder of `a`, three waiters for `a`, a watch of `b`. On a busy machine a short session may
   * end meanwhile: then once more.
   */
  async function prepare(ttlS) {
    for (;;) {
      const all = await begin(ttlS);
      if (!all.held.signal.aborted) return all;
      await Promise.all(all.waiting);
      for (const locks of [all.holder, all.waiter, all.watcher]) locks.close();
    }
  }

  async function begin(ttlS) {
    const engine = engineOf();
    const [holder, waiter, watcher] = [1, 2, 3].map(() => engine.open(ttlS));
    const held = await holder.acquire('a');
    const order = [];
    const waiting = [1, 2, 3].map((at) => waiter.request('a', () => order.push(at)));
    await waiter.query();
    while (!held.signal.aborted && (await holder.query()).pending.length < 3) await sleep(1);
    const watch = watcher.watch('b');
    const event = watch.next();
    await watcher.query();
    return { engine, holder, waiter, held, waiting, order, event, watch };
  }

  /** @param {number} lost  events that the watch may have missed */
  async function expectKept({ holder, waiter, held, waiting, order, event }, lost = 0) {
    expect(await nameOf(waiter.request('a', { ifAvailable: true }, (lock) => lock.name))).toBe(
      'TypeError', // it was null: the lock is held
    );
    expect(held.signal.aborted).toBe(false);
    held.release();
    await Promise.all(waiting);
    expect(order).toEqual([1, 2, 3]);
    await holder.request('b', () => {});
    expect((await event).value).toMatchObject({ name: 'b', lost });
    expect(await holder.query()).toEqual({ held: [], pending: [] });
  }

  /** Waiters enter the queue again. A watch may be the last to have a session again. */
  async function expectLost({ holder, held, waiting, order, event }) {
    expect(held.signal.reason).toMatchObject(LOST);
    await Promise.all(waiting);
    expect(order).toEqual([1, 2, 3]);
    let isSeen = false;
    const seen = event.finally(() => (isSeen = true));
    const first = await holder.request('b', ({ token }) => token);
    while (!isSeen) await untilFree(holder, 'b');
    const { type, token, lost } = (await seen).value;
    expect(lost > 0 || (type === 'granted' && token === first)).toBe(true);
  }

  test('silent for a moment: holders, waiters and watchers continue', async () => {
    const all = await prepare();
    await all.engine.silence();
    const limited = [all.holder, all.waiter].map((locks) =>
      nameOf(locks.request('c', { timeout: 100 }, () => {})),
    );
    expect(await Promise.all(limited)).toEqual(['TimeoutError', 'TimeoutError']);
    const query = all.holder.query();
    all.engine.resume();
    expect((await query).held.map(({ name }) => name)).toContain('a');
    await expectKept(all);
  });

  test('silent: a blocked thread continues after its timeout, and keeps its locks', async () => {
    const engine = engineOf();
    const locks = engine.open();
    const held = await locks.acquire('a');
    await engine.silence();
    expect(() => locks.requestSync('c', { timeout: 100 }, () => {})).toThrow(
      expect.objectContaining({ name: 'TimeoutError' }),
    );
    engine.resume();
    await locks.query();
    expect(held.signal.aborted).toBe(false); // it was not blocked until the end of its session
    await held.release();
    expect(await untilFree(locks, 'c')).toBe('granted');
    await untilEmpty(locks);
  });

  test('silent for long: query() and inspect() reject', async () => {
    const all = await prepare();
    await all.engine.silence();
    const calls = [all.holder.query(), all.waiter.inspect()].map(nameOf);
    expect(await Promise.all(calls)).toEqual(Array(2).fill('InvalidStateError'));
    all.engine.resume();
    if (Kind.hasLeases) await Promise.all(all.waiting);
    else await expectKept(all);
    expect(await all.holder.query()).toEqual(await all.waiter.query());
  });

  test('killed and started again: holders, waiters and watchers continue, or it is lost', async () => {
    const all = await prepare();
    await all.engine.kill();
    const late = all.holder.request('c', () => 'late');
    const query = all.waiter.query();
    await all.engine.restart();
    expect(await late).toBe('late');
    if (Kind.losesAtRestart) {
      await query;
      await expectLost(all);
      return;
    }
    expect((await query).held.map(({ name }) => name)).toContain('a');
    await expectKept(all, Kind.missesAtRestart);
  });

  test('killed during a release: it is in effect once there is a server', async () => {
    const all = await prepare();
    await all.engine.kill();
    const released = all.held.release();
    await all.engine.restart();
    await released;
    await Promise.all(all.waiting);
    expect(all.order).toEqual([1, 2, 3]);
  });

  test('silent for longer than a session is valid: kept, or lost and said so', async () => {
    const all = await prepare(SHORT_TTL_S);
    await all.engine.silence();
    await sleep(SHORT_TTL_S * 1000);
    if (!Kind.hasLeases) {
      all.engine.resume();
      await expectKept(all);
      return;
    }
    expect(all.held.signal.reason).toMatchObject(LOST); // before another request is granted
    all.engine.resume();
    await expectLost(all);
  });

  test('gone for longer than a session is valid, then started again: the same', async () => {
    const all = await prepare(SHORT_TTL_S);
    await all.engine.kill();
    await sleep(SHORT_TTL_S * 1000);
    if (Kind.hasLeases) expect(all.held.signal.reason).toMatchObject(LOST);
    await all.engine.restart();
    if (!Kind.hasLeases) {
      await expectKept(all, Kind.missesAtRestart);
      return;
    }
    await expectLost(all);
  });
}

/** The first call has `spare` descriptors; then all descriptors are free again. */
const FIRST_CALL = async ({ locks, say, received, require }) => {
  const fs = require('node:fs');
  const nameIt = (promise) => promise.then(() => 'fulfilled').catch(({ message }) => message);
  const spare = await received();
  const taken = [];
  try {
    for (;;) taken.push(fs.openSync('/dev/null'));
  } catch {
    taken.splice(0, spare).forEach((fd) => fs.closeSync(fd));
  }
  const options = { timeout: 1000 };
  const first = await nameIt(locks.request('a', options, () => {}));
  for (const fd of taken) fs.closeSync(fd);
  await say([first, await nameIt(locks.request('a', () => {}))]);
  process.exit();
};

/** No descriptor is left once it holds, waits and watches. */
const LATER_CALLS = async ({ locks, open, say, require }) => {
  const fs = require('node:fs');
  const nameIt = (promise) => promise.then(() => 'fulfilled').catch(({ name }) => name);
  const other = open();
  locks.requestSync('d', () => {}); // loads the modules of the first use
  await locks.inspect();
  const held = await locks.acquire('a');
  void held.signal; // the same
  const waiting = nameIt(other.request('a', () => {}));
  const event = locks.watch('c').next();
  await other.query();
  const taken = [];
  try {
    for (;;) taken.push(fs.openSync('/dev/null'));
  } catch {
    // There are no more.
  }
  const calls = [
    locks.request('b', () => {}),
    other.request('a', { timeout: 10 }, () => {}),
    locks.query(),
    locks.inspect(),
  ].map(nameIt);
  const answers = [locks.isLocked('a'), locks.requestSync('d', () => 'ran')];
  await say([...(await Promise.all(calls)), ...answers, held.signal.aborted]);
  held.release();
  await say(await waiting);
  for (const fd of taken) fs.closeSync(fd);
  await locks.request('c', () => {});
  await say((await event).value.name);
  process.exit();
};

const SHORTAGE = /^fulfilled$|EMFILE|too many open files/;

/** @param {() => any} engineOf */
function defineDescriptors(engineOf) {
  test.each([0, 1, 2, 4, 8])(
    'with %d left the first call is granted or says so, and the next one is granted',
    async (spare) => {
      const program = engineOf().run(FIRST_CALL, { inside: FEW_DESCRIPTORS });
      program.report(spare);
      expect(await program.said()).toEqual([expect.stringMatching(SHORTAGE), 'fulfilled']);
    },
  );

  test('without one left holders, waiters and watchers continue', async () => {
    const program = engineOf().run(LATER_CALLS, { inside: FEW_DESCRIPTORS });
    const calls = ['fulfilled', 'TimeoutError', 'fulfilled', 'fulfilled', true, 'ran', false];
    expect(await program.said()).toEqual(calls);
    expect(await program.said()).toBe('fulfilled');
    expect(await program.said()).toBe('c');
  });
}

/** @param {() => any} engineOf @param {any} Kind */
function defineMany(engineOf, Kind) {
  test(
    `${MANY} requests with names of 2 KB: each is granted, aborted or refused`,
    async () => {
      const [holder, waiter, bystander] = [1, 2, 3].map(() => engineOf().open());
      const other = await bystander.acquire('other');
      const gate = await holder.acquire(LONG);
      const controller = new AbortController();
      const { signal } = controller;
      let granted = 0;
      const onGranted = ({ name }) => {
        if (name === LONG) granted += 1; // the others are granted before they are counted
        if (granted === Kind.maxTurns) controller.abort();
      };
      const names = Array.from({ length: MANY }, (_, at) => (at % 100 ? LONG : `${LONG} ${at}`));
      const calls = names.map((name) => nameOf(waiter.request(name, { signal }, onGranted)));
      await waiter.query(); // all of them have their places
      const { pending } = await bystander.query();
      const inspected = await bystander.inspect();
      expect(pending.length).toBe(inspected.pending.length);
      expect(bystander.isLocked('other')).toBe(true);
      gate.release();
      const counts = { fulfilled: 0, AbortError: 0, QuotaExceededError: 0 };
      for (const name of await Promise.all(calls)) counts[name] += 1;
      expect(counts.fulfilled).toBeGreaterThanOrEqual(Math.min(Kind.maxTurns, pending.length));
      expect(counts.fulfilled + counts.AbortError + counts.QuotaExceededError).toBe(MANY);
      expect(other.signal.aborted).toBe(false);
      other.release();
      expect(await untilFree(waiter, 'other')).toBe('granted');
      await untilEmpty(bystander); // over etcd an abort takes another round trip
    },
    MANY_WATCHDOG_MS,
  );
}

/** The program on a full disk. */
const ON_FULL_DISK = async ({ locks, open, say, received }) => {
  const nameIt = (promise) => promise.then(() => 'fulfilled').catch(({ name }) => name);
  const label = 'l'.repeat(1000);
  const ends = [];
  const hold = () => new Promise((end) => ends.push(end));
  const other = open();
  const held = await locks.acquire('a');
  const waiting = other.request('a', () => 'granted');
  await other.query();
  await say('ready');
  const count = await received(); // it is full
  const requested = [other, open()].flatMap((manager) =>
    Array.from({ length: count }, (_, at) => {
      const decided = new Promise((resolve) => {
        const name = `b ${at} ${manager === other}`;
        const request = manager.request(name, { label }, () => hold(resolve('fulfilled')));
        request.catch((error) => resolve(error.name));
      });
      return decided;
    }),
  );
  await say([...new Set(await Promise.all(requested))]);
  await say(held.signal.aborted);
  void held.release();
  void waiting.then(say);
  await received(); // there is room
  await waiting;
  for (const end of ends) end();
  for (const manager of [locks, other, open()]) {
    while ((await nameIt(manager.request('c', () => {}))) !== 'fulfilled');
  }
  await say('works');
  process.exit();
};

/** @param {any} Kind */
function defineFull(Kind) {
  test('full: requests are granted or refused, nothing is lost, and with room all works', async () => {
    const engine = await Kind.start({ quota: QUOTA });
    try {
      const program = engine.run(ON_FULL_DISK, { inside: engine.onSmallDisk });
      expect(await program.said()).toBe('ready');
      await engine.fill(program.pid);
      program.report(Kind.requestsWhenFull);
      const answers = await program.said();
      expect(answers).toContain('QuotaExceededError');
      expect(['fulfilled', 'QuotaExceededError']).toEqual(expect.arrayContaining(answers));
      expect(await program.said()).toBe(false); // the lock is not lost
      if (!Kind.hasLeases) expect(await program.said()).toBe('granted');
      await engine.makeRoom(program.pid);
      program.report('room');
      if (Kind.hasLeases) expect(await program.said()).toBe('granted'); // or before, by its version
      expect(await program.said()).toBe('works');
    } finally {
      await engine.stop();
    }
  });
}

/** @param {() => any} engineOf @param {any} Kind */
function defineExec(engineOf, Kind) {
  let cli;
  beforeEach(() => {
    cli = new CommandLine();
  });
  afterEach(() => cli.close());

  test('holdfast exec is killed while its command runs', async () => {
    const engine = engineOf();
    const locks = engine.open(SHORT_TTL_S);
    const words = ['exec', '--url', engine.url(SHORT_TTL_S), 'a', '--', 'sh', '-c'];
    const tool = cli.start([...words, 'echo $$; exec sleep 60']);
    const pid = Number(await tool.line(/^\d+$/));
    tool.kill('SIGKILL');
    while (isRunning(tool.pid)) await sleep(1);
    try {
      if (Kind.hasServer) {
        expect(tool.errors).toMatch(/the lock becomes free while the command runs on/);
        expect(await untilFree(locks, 'a')).toBe('granted');
        expect(isRunning(pid)).toBe(true);
      } else {
        const isHeld = await locks.request('a', { ifAvailable: true }, (lock) => lock === null);
        expect([isRunning(pid), isHeld, tool.errors]).toEqual([true, true, '']);
        process.kill(pid, 'SIGKILL');
        expect(await untilFree(locks, 'a')).toBe('granted');
      }
    } finally {
      if (isRunning(pid)) process.kill(pid, 'SIGKILL');
    }
  });
}

/** @param {string[]} names  of ENGINES */
function describeBadDays(names) {
  describe.each(names)('over %s', (name) => {
    const Kind = ENGINES[name];
    let engine;
    beforeAll(async () => {
      engine = await Kind.start();
    });
    afterEach(() => engine.clear());
    afterAll(() => engine.stop());
    const engineOf = () => engine;

    defineClosing(engineOf, Kind);
    describe('many requests', () => defineMany(engineOf, Kind));
    if (Kind.isOfOneThread) return;
    describeInside(['unshare', '--mount'], 'its disk', () => defineFull(Kind));
    describe('descriptors', () => defineDescriptors(engineOf));
    describe('exec', () => defineExec(engineOf, Kind));
    if (Kind.hasServer) describe('its server', () => defineServer(engineOf, Kind));
  });
}

module.exports = { describeBadDays };
