'use strict';

const fs = require('node:fs');
const {
  chmodSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { createLocalLockManager, openLockManager, runEvery } = require('../../lib/index.js');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { LocalBackend } = require('../../lib/backends/local/backend.js');

const HOUR = 3_600_000;

let manager;
let stop;
beforeEach(() => {
  manager = createLocalLockManager();
  stop = new AbortController();
});
afterEach(() => manager.close());

/** Half an hour of the current interval is over, so that no test sees the next one. */
const offset = (Date.now() % HOUR) - HOUR / 2;
const current = Math.floor((Date.now() - offset) / HOUR);

/** Remembers one number, and all that were written. */
function storeOf(run) {
  const written = [];
  return {
    written,
    read: () => written.at(-1) ?? run,
    write: (_name, next) => void written.push(next),
  };
}

const options = (more) => ({ every: HOUR, offset, manager, signal: stop.signal, ...more });

describe('runEvery()', () => {
  test('makes the current run where the last one was noted for an earlier interval', async () => {
    const store = storeOf(current - 3);
    const run = await new Promise((resolve) => {
      runEvery('a', options({ store }), resolve);
    });
    expect(run.due).toEqual(new Date(current * HOUR + offset));
    expect(typeof run.token).toBe('bigint');
    stop.abort();
  });

  test('makes the runs of short intervals one after the other, each once', async () => {
    const dues = [];
    await runEvery('a', options({ every: 5, offset: 0 }), ({ due }) => {
      dues.push(+due);
      if (dues.length === 4) stop.abort();
    });
    expect(dues).toEqual([...new Set(dues)].sort((a, b) => a - b));
    expect(dues.map((due) => due % 5)).toEqual([0, 0, 0, 0]);
  });

  test.each([
    ['no run was noted', undefined],
    ['the current run was noted', current],
    ['a run of the far future was noted, by a clock that has been set back', current + 100],
  ])('makes no run until the next interval where %s', async (_, noted) => {
    const store = storeOf(noted);
    const isLeading = new Promise((resolve) => {
      const { read } = store;
      store.read = () => (resolve(), read());
    });
    let runs = 0;
    const job = runEvery('a', options({ store }), () => (runs += 1));
    await isLeading;
    stop.abort();
    await job;
    expect(runs).toBe(0);
    expect(store.written).toEqual(noted === current ? [] : [current]);
  });

  /** The dues of three runs, where the clock is set back in the first of them. */
  async function duesAfterStepBack(ms) {
    let shift = 0;
    manager.close();
    let job;
    jest.isolateModules(() => {
      const time = jest.requireActual('../../lib/time.js');
      const dateNow = () => Date.now() + shift;
      jest.doMock('../../lib/time.js', () => ({ ...time, dateNow }));
      manager = require('../../lib/locks/lock-manager.js').createLocalLockManager();
      job = require('../../lib/locks/run-every.js');
    });
    const dues = [];
    await job.runEvery('a', options({ every: 5, offset: 0 }), ({ due }) => {
      dues.push(+due);
      shift = -ms;
      if (dues.length === 3) stop.abort();
    });
    return dues;
  }

  test('continues by a clock that is set back while it leads', async () => {
    const [first, second, third] = await duesAfterStepBack(HOUR);
    expect(second).toBeLessThan(first);
    expect(third).toBeGreaterThan(second);
  });

  test('repeats no run where a clock is set back by a little', async () => {
    const [first, second, third] = await duesAfterStepBack(50);
    expect(second).toBeGreaterThan(first);
    expect(third).toBeGreaterThan(second);
  });

  test.each([
    ['at-least-once', []],
    ['at-most-once', [current]],
  ])('notes the run, %s, beginning with %j when the callback is called', async (delivery, at) => {
    const store = storeOf(current - 1);
    let seen;
    await runEvery('a', options({ store, delivery }), () => {
      seen = [...store.written];
      stop.abort();
    });
    expect(seen).toEqual(at);
    expect(store.written).toEqual([current]);
  });

  test('rejects with what the callback threw, and notes the run', async () => {
    const store = storeOf(current - 1);
    const error = new Error('no');
    const job = runEvery('a', options({ store }), () => Promise.reject(error));
    await expect(job).rejects.toBe(error);
    expect(store.written).toEqual([current]);
    expect(manager.isLocked('a')).toBe(false);
  });

  test('calls onError with what the callback threw, and continues', async () => {
    const errors = [];
    const onError = (error) => {
      errors.push(error.message);
      if (errors.length === 2) stop.abort();
    };
    await runEvery('a', options({ every: 5, onError }), () => Promise.reject(new Error('no')));
    expect(errors).toEqual(['no', 'no']);
  });

  test('a run that the signal stops aborts with its reason, and is not noted', async () => {
    const store = storeOf(current - 1);
    let reason;
    await runEvery('a', options({ store }), async ({ signal }) => {
      const aborted = new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
      stop.abort('enough');
      await aborted.catch((error) => {
        reason = error;
        throw error;
      });
    });
    expect(reason).toBe('enough');
    expect(store.written).toEqual([]);
  });

  test('a run whose lock is stolen aborts, is not noted, and is made again after the stealer', async () => {
    const store = storeOf(current - 1);
    let runs = 0;
    await runEvery('a', options({ store }), async ({ signal }) => {
      runs += 1;
      if (runs === 2) return stop.abort();
      const isLost = new Promise((resolve) => signal.addEventListener('abort', resolve));
      await manager.request('a', { steal: true }, () => {});
      return isLost;
    });
    expect(runs).toBe(2);
    expect(store.written).toEqual([current]);
  });

  test('a run that ends well after the job was stopped is noted, whatever the reason', async () => {
    const store = storeOf(current - 1);
    const outer = await manager.acquire('outer');
    await runEvery('a', options({ store, signal: outer.signal }), async ({ signal }) => {
      const isStopped = new Promise((resolve) => signal.addEventListener('abort', resolve));
      await manager.request('outer', { steal: true }, () => {});
      return isStopped;
    });
    expect(store.written).toEqual([current]);
  });

  test('a run whose lock is stolen after the job was stopped is not noted', async () => {
    const store = storeOf(current - 1);
    await runEvery('a', options({ store }), async () => {
      stop.abort();
      await manager.request('a', { steal: true }, () => {});
    });
    expect(store.written).toEqual([]);
  });

  test('a run that is noted first is not begun where the lock was lost during that', async () => {
    const store = storeOf(current - 1);
    const delivery = 'at-most-once';
    const notCalled = jest.fn();
    let job;
    await new Promise((resolve) => {
      const write = async (name, run) => {
        store.write(name, run);
        await manager.request('a', { steal: true }, resolve);
      };
      job = runEvery('a', options({ store: { ...store, write }, delivery }), notCalled);
    });
    stop.abort();
    await job;
    expect(store.written).toEqual([current]);
    expect(notCalled).not.toHaveBeenCalled();
  });

  test('resolves when it is stopped while another holds the lock', async () => {
    const handle = await manager.acquire('a');
    const job = runEvery('a', options({}), () => {});
    stop.abort();
    await expect(job).resolves.toBeUndefined();
    handle.release();
  });

  test('resolves when it is stopped, whatever listeners do with the events of its signals', async () => {
    const store = storeOf(current - 1);
    const { write } = store;
    const isNoted = new Promise((resolve) => {
      store.write = (...args) => resolve(write(...args));
    });
    const stopEvent = (event) => event.stopImmediatePropagation();
    stop.signal.addEventListener('abort', stopEvent);
    const job = runEvery('a', options({ store }), ({ signal }) => {
      signal.addEventListener('abort', stopEvent);
    });
    await isNoted;
    await new Promise((resolve) => setImmediate(resolve)); // it waits for its next run
    stop.abort();
    await expect(job).resolves.toBeUndefined();
  });

  test('rejects where its manager is closed', async () => {
    const job = runEvery('a', options({}), () => {});
    await Promise.resolve();
    manager.close();
    await expect(job).rejects.toMatchObject({ name: 'InvalidStateError' });
  });

  test.each([
    ['no interval', {}, /'every'/],
    ['an interval of half a millisecond', { every: 0.5 }, /'every'/],
    ['no interval at all', { every: 0 }, /'every'/],
    ['an offset that is no number', { every: 1, offset: 'x' }, /'offset'/],
    ['a relative file', { every: 1, store: 'x.run' }, /'store'.*absolute/],
    ['a store that cannot write', { every: 1, store: { read() {} } }, /'store'/],
    ['an unknown delivery', { every: 1, delivery: 'twice' }, /RunDelivery/],
    ['a manager that is none', { every: 1, manager: {} }, /'manager'/],
    ['a signal that is none', { every: 1, signal: {} }, /'signal'/],
  ])('refuses %s', async (_, given, message) => {
    const job = runEvery('a', { manager, ...given }, () => {});
    await expect(job).rejects.toThrow(TypeError);
    await expect(job).rejects.toThrow(message);
  });

  test('refuses a job without a callback', async () => {
    await expect(runEvery('a', options({}))).rejects.toThrow(TypeError);
  });
});

describe('if runs are noted', () => {
  let directory;
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'holdfast-notes-'));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const onceNow = (more) =>
    new Promise((resolve, reject) => {
      runEvery('a', options(more), () => stop.abort()).then(resolve, reject);
    });

  test('a path is a file with the number of the run', async () => {
    const store = path.join(directory, 'job.run');
    writeFileSync(store, `${current - 1}\n`);
    await onceNow({ store });
    expect(readFileSync(store, 'utf8')).toBe(`${current}\n`);
  });

  test.each([
    ['2770: members of its group', 0o2770, 0o660],
    ['700: its owner', 0o700, 0o600],
  ])(
    'in a directory of mode %s can read the file, whatever the umask',
    async (_, mode, expected) => {
      chmodSync(directory, mode);
      const store = path.join(directory, 'job.run');
      writeFileSync(store, `${current - 1}\n`);
      const umask = process.umask(0o077);
      await onceNow({ store });
      process.umask(umask);
      expect(statSync(store).mode & 0o777).toBe(expected);
    },
  );

  test('a file without a number counts as no note', async () => {
    const store = path.join(directory, 'job.run');
    writeFileSync(store, 'nonsense');
    const job = runEvery('a', options({ store }), () => {});
    while (readFileSync(store, 'utf8') !== `${current}\n`) await new Promise(setImmediate);
    stop.abort();
    await job;
  });

  test('without one, locks in shared memory note it beside their table, for each job', async () => {
    const shared = openLockManager({ directory });
    const jobs = ['a', 'b'].map((name) => runEvery(name, options({ manager: shared }), () => {}));
    const names = () => require('node:fs').readdirSync(path.join(directory, 'default'));
    while (names().filter((name) => /^run\.[0-9a-f]{32}$/.test(name)).length < 2) {
      await new Promise(setImmediate);
    }
    stop.abort();
    await Promise.all(jobs);
    shared.close();
  });

  test('without one, locks of one thread note it in memory, shared by managers of one table', async () => {
    const first = new LocalBackend();
    const second = new LocalBackend(first.table);
    const { defaultRunStore } = require('../../lib/locks/run-every.js');
    defaultRunStore(first).write('a', 7);
    expect(defaultRunStore(second).read('a')).toBe(7);
    expect(defaultRunStore(new LocalBackend()).read('a')).toBe(undefined);
  });

  test('without one, locks over a broker note it in the folder of their bucket', () => {
    const backend = new BrokerBackend({ directory, bucket: 'jobs' });
    const { defaultRunStore } = require('../../lib/locks/run-every.js');
    defaultRunStore(backend).write('a', 7);
    expect(defaultRunStore(backend).read('a')).toBe(7);
    expect(readdirSync(backend.folder)).toContainEqual(expect.stringMatching(/^run\./));
    backend.close();
  });

  test('a write that was stopped, and one of a process with the same pid elsewhere, both succeed', () => {
    const backend = { folder: directory };
    const rename = jest.spyOn(fs, 'renameSync');
    jest.isolateModules(() => {
      const { defaultRunStore } = require('../../lib/locks/run-every.js');
      rename.mockImplementationOnce((...paths) => {
        defaultRunStore(backend).write('a', 8); // in the other container
        fs.renameSync(...paths);
      });
      defaultRunStore(backend).write('a', 7);
    });
    rename.mockRestore();
    expect(readdirSync(directory)).toEqual([expect.stringMatching(/^run\.[0-9a-f]{32}$/)]);
  });

  test('without one, locks that have no directory here are refused', async () => {
    const { enqueue, release, cancel, snapshot, inspect, isLocked, watch, close } =
      LocalBackend.prototype;
    const methods = { enqueue, release, cancel, snapshot, inspect, isLocked, watch, close };
    const remote = openLockManager({ backend: { clientId: 'x', ...methods } });
    await expect(runEvery('a', options({ manager: remote }), () => {})).rejects.toThrow(/'store'/);
  });
});
