'use strict';

const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');

const { locks, scheduler, createLocalLockManager, openLockManager } = require('../../lib/index.js');
const { findRealHrtime } = require('../../lib/unfaked-timers.js');
const { removeLocks } = require('../support/broker-process.js');

const LIBRARY = join(__dirname, '../../lib/index.js');
const realSetTimeout = setTimeout;
const realSleep = (ms) => new Promise((resolve) => realSetTimeout(resolve, ms));

let directory;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-time-'));
});
afterAll(() => removeLocks(new BrokerFiles('default', directory)));
afterEach(() => jest.useRealTimers());

describe.each([
  ['shared memory', () => openLockManager({ directory })],
  ['one thread', () => createLocalLockManager()],
  ['a broker', () => openLockManager({ url: `broker://${directory}` })],
])('under fake timers, over %s,', (_, open) => {
  let manager;
  beforeEach(() => {
    jest.useFakeTimers();
    manager = open();
  });
  afterEach(() => manager.close());

  test('a wait times out', async () => {
    manager.request('a', () => new Promise(() => {})).catch(() => {});
    const wait = manager.request('a', { timeout: 20 }, () => {});
    await expect(wait).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  test('a hold limit passes, and lock.signal aborts', async () => {
    let signal;
    const held = manager.request('a', { holdLimit: 20 }, (lock) => {
      ({ signal } = lock);
      return new Promise(() => {});
    });
    await expect(held).rejects.toMatchObject({ reason: 'expired' });
    expect(signal.aborted).toBe(true);
  });

  test('many locks leave timers and I/O their turns', async () => {
    let turns = 0;
    const counting = (async () => {
      for (; turns < 10; turns += 1) await realSleep(1);
    })();
    const end = process.uptime() + 50; // a watchdog: Jest's own is a timer, too
    while (turns < 10 && process.uptime() < end) await manager.request('a', () => {});
    expect(turns).toBe(10);
    await counting;
  });
});

/** Is loaded while clocks are fake, and takes a lock; asks for another one when it is told to. */
const OVER_A_BROKER = `
  const clock = require('@sinonjs/fake-timers').install();
  const { openLockManager } = require(${JSON.stringify(LIBRARY)});
  clock.uninstall();
  const [url, kind] = process.argv.slice(1);
  const locks = openLockManager({ url });
  const print = ({ token }) => process.stdout.write(String(token));
  const ask = () =>
    kind === 'requestSync()' ? locks.requestSync('a', print) : locks.request('a', print);
  process.stdin.once('data', async () => {
    process.stdin.unref();
    await ask();
  });
  locks.request('open', () => process.stdout.write('open'));`;

test.each(['request()', 'requestSync()'])(
  'loaded under a fake clock, its %s over a broker comes after earlier ones',
  async (kind) => {
    const url = `broker://${directory}`;
    const manager = openLockManager({ url });
    const holder = await manager.acquire('a');
    const child = spawn(process.execPath, ['-e', OVER_A_BROKER, url, kind], { cwd: __dirname });
    child.stderr.pipe(process.stderr);
    const isOver = once(child, 'exit');
    await once(child.stdout, 'data'); // it has a connection
    const earlier = manager.request('a', ({ token }) => token);
    while ((await manager.query()).pending.length < 1);
    const later = once(child.stdout, 'data');
    child.stdin.write('ask');
    while ((await manager.query()).pending.length < 2 && child.exitCode === null);
    holder.release();
    expect(BigInt(String(await later)) > (await earlier)).toBe(true);
    await isOver;
    manager.close();
  },
);

test('the clock that it finds in place of a fake one is that of the machine', () => {
  const now = findRealHrtime(performance);
  const before = process.hrtime.bigint();
  expect(Number(now() - before) / 1e9).toBeCloseTo(0, 0);
});

test('where no thread can be started, there is a clock that goes on', () => {
  const program = `
    const { findRealHrtime } = require(${JSON.stringify(join(LIBRARY, '../unfaked-timers.js'))});
    require('node:worker_threads').Worker = class { constructor() { throw new Error(); } };
    const now = findRealHrtime(performance);
    const before = now();
    setTimeout(() => process.stdout.write(String(now() > before)), 1);`;
  expect(spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' }).stdout).toBe('true');
});

test('under fake timers requestSync() times out', async () => {
  jest.useFakeTimers();
  const holder = openLockManager({ directory });
  const other = openLockManager({ directory });
  // Of another thread for requestSync(), which would refuse to wait for its own.
  const run = `
    const { openLockManager } = require(${JSON.stringify(LIBRARY)});
    const manager = openLockManager({ directory: ${JSON.stringify(directory)} });
    manager.request('sync', () => new Promise(() => {}));
    setInterval(() => {}, 1000);
    process.stdout.write('held');`;
  const child = spawn(process.execPath, ['-e', run], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await new Promise((resolve) => child.stdout.once('data', resolve));
    expect(() => other.requestSync('sync', { timeout: 50 }, () => {})).toThrow(
      expect.objectContaining({ name: 'TimeoutError' }),
    );
  } finally {
    child.kill('SIGKILL');
    holder.close();
    other.close();
  }
});

test('under fake timers a delayed task runs', async () => {
  jest.useFakeTimers();
  await expect(scheduler.postTask(() => 'ran', { delay: 5 })).resolves.toBe('ran');
  expect(locks).toBeDefined();
});

/** Loads the package while timers are fake, and uses it afterwards; prints what came of it. */
const USE_AFTERWARDS = `
  const { scheduler, createLocalLockManager } = require(${JSON.stringify(LIBRARY)});
  fake.stop();
  setInterval(() => {}, 1000); // a held lock keeps no process alive
  const print = async () => {
    const delayed = await scheduler.postTask(() => 'ran', { delay: 20 });
    const manager = createLocalLockManager();
    manager.request('a', () => new Promise(() => {}));
    const timeout = await manager.request('a', { timeout: 20 }, () => {}).catch((e) => e.name);
    const expired = await manager
      .request('b', { holdLimit: 20 }, () => new Promise(() => {}))
      .catch((e) => e.reason);
    let signal;
    manager.request('c', (lock) => ({ signal } = lock, new Promise(() => {}))).catch(() => {});
    await manager.request('c', { steal: true }, () => {});
    const isAborted = await new Promise((resolve) => {
      if (signal.aborted) resolve(true);
      else signal.addEventListener('abort', () => resolve(true));
    });
    const [{ since }] = (await manager.inspect()).held;
    const isNow = Math.abs(Date.now() - since) < 3_600_000;
    const words = [delayed, timeout, expired, isAborted, isNow];
    process.stdout.write(words.join(' '), () => process.exit());
  };
  print();`;

test.each([
  [
    'node:test',
    `const { mock } = require('node:test');
     mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'setImmediate'] });
     const fake = { stop: () => mock.timers.reset() };`,
  ],
  [
    'node:test, with its clock',
    `const { mock } = require('node:test');
     mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'setImmediate', 'Date'] });
     const fake = { stop: () => mock.timers.reset() };`,
  ],
  [
    'sinon',
    `const clock = require('@sinonjs/fake-timers').install();
     const fake = { stop: () => clock.uninstall() };`,
  ],
])('loaded under the fake timers of %s, it uses real ones', (_, fakeTimers) => {
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', fakeTimers + USE_AFTERWARDS], {
    cwd: __dirname,
    encoding: 'utf8',
    timeout: 120_000,
  });
  expect({ stdout, stderr: stderr.replace(/.*ExperimentalWarning.*\n.*\n/, '') }).toEqual({
    stdout: 'ran TimeoutError expired true true',
    stderr: '',
  });
});
