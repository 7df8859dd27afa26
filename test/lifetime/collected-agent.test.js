'use strict';

// An agent that JavaScript refers to no more is given up by collection, unless it holds, waits for
// or watches something.

const { mkdtempSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { removeLocks } = require('../support/broker-process.js');
const { runWithCollector } = require('../support/collector-program.js');

const VARIABLES = ['HOLDFAST_DIR', 'HOLDFAST_URL'];
const before = VARIABLES.map((name) => process.env[name]);

/** Hooks of the tests over a backend. */
function useBackend(url) {
  let directory;
  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'holdfast-collected-'));
    process.env.HOLDFAST_DIR = directory;
    process.env.HOLDFAST_URL = url;
  });
  afterEach(() => {
    removeLocks(new BrokerFiles('default', directory));
    for (const [i, name] of VARIABLES.entries()) {
      if (before[i] === undefined) delete process.env[name];
      else process.env[name] = before[i];
    }
  });
}

describe.each(['shm:', 'broker:'])('over %s', (url) => {
  useBackend(url);

  test('agents that hold, wait for and watch nothing leave no descriptor behind', () => {
    const result = runWithCollector(async ({ openLockManager, collect }) => {
      const { readdirSync } = require('node:fs');
      const count = () => readdirSync('/proc/self/fd').length;
      const use = async () => {
        const manager = openLockManager();
        for (let i = 0; i < 3; i += 1) await manager.request('a', () => {});
        await manager.query();
        await manager.watch('a').return();
      };
      await use();
      await collect();
      const atFirst = count();
      for (let i = 0; i < 30; i += 1) await use();
      // A connection ends after some more turns of the loop.
      for (let i = 0; i < 100 && count() > atFirst; i += 1) await collect();
      return count() - atFirst;
    });
    expect(result).toBeLessThanOrEqual(0);
  });

  test('agents that have blocked the thread leave no descriptor behind', () => {
    const result = runWithCollector(async ({ openLockManager, collect }) => {
      const { readdirSync } = require('node:fs');
      const count = () => readdirSync('/proc/self/fd').length;
      const use = () => openLockManager().requestSync('a', () => {});
      use();
      const atFirst = count();
      for (let i = 0; i < 10; i += 1) use();
      for (let i = 0; i < 100 && count() > atFirst; i += 1) await collect();
      return count() - atFirst;
    });
    expect(result).toBeLessThanOrEqual(0);
  });

  test('locks that nothing refers to stay held, by the lock table and by a kept name', () => {
    const result = runWithCollector(async ({ locks, openLockManager, collect }) => {
      const never = () => new Promise(() => {});
      await (async () => {
        void openLockManager().request('in the table', never);
        const manager = openLockManager();
        for (let i = 0; i < 3; i += 1) await manager.request('kept', () => {});
        await new Promise((resolve) => setTimeout(resolve, 5)); // so that the agent was idle
        void manager.request('kept', never);
      })();
      await collect();
      return ['in the table', 'kept'].map((name) => locks.isLocked(name));
    });
    expect(result).toEqual([true, true]);
  });

  test('a request that nothing refers to is granted', () => {
    const result = runWithCollector(async ({ locks, openLockManager, collect }) => {
      const order = [];
      let last;
      await locks.request('a', async () => {
        void openLockManager().request('a', () => order.push('granted'));
        while ((await locks.query()).pending.length === 0);
        last = locks.request('a', () => order.push('last'));
        await collect();
        order.push('released');
      });
      await last;
      return order;
    });
    expect(result).toEqual(['released', 'granted', 'last']);
  });

  test('a watch whose manager nothing refers to continues', () => {
    const result = runWithCollector(async ({ locks, openLockManager, collect }) => {
      let count = 0;
      void (async () => {
        for await (const { name } of openLockManager().watch('a')) count += name.length;
      })();
      const use = async () => {
        await locks.request('a', () => {});
        await new Promise((resolve) => setImmediate(resolve));
      };
      while (count === 0) await use(); // a broker may not have received the watch yet
      await collect();
      const atFirst = count;
      for (let i = 0; i < 1000 && count === atFirst; i += 1) await use();
      return count > atFirst;
    });
    expect(result).toBe(true);
  });

  test('a snapshot, requests and a release under way that nothing refers to are answered', () => {
    const result = runWithCollector(async ({ locks, openLockManager, collect }) => {
      let answered = 0;
      const count = () => (answered += 1);
      for (let i = 0; i < 10; i += 1) {
        void openLockManager().query().then(count);
        void openLockManager()
          .request('a', ({ name }) => name)
          .then(count);
        void openLockManager()
          .request('b', { mode: 'shared' }, () => collect())
          .then(count);
        await collect();
      }
      // A collected one would never be answered.
      for (let i = 0; i < 10_000 && answered < 30; i += 1) {
        await locks.query();
        await new Promise((resolve) => setImmediate(resolve));
      }
      return answered;
    });
    expect(result).toBe(30);
  });

  test('an idle manager that is still referred to locks again after a collection', () => {
    const result = runWithCollector(async ({ locks, collect }) => {
      const tokens = [];
      for (let i = 0; i < 5; i += 1) {
        await locks.request('a', ({ token }) => tokens.push(token));
        await collect();
      }
      return tokens.every((token, i) => i === 0 || token > tokens[i - 1]);
    });
    expect(result).toBe(true);
  });
});

describe('over a broker that dies', () => {
  useBackend('broker:');

  test('locks and requests that nothing refers to pass to the next broker', () => {
    const result = runWithCollector(async ({ openLockManager, collect }) => {
      const { readdirSync, readFileSync } = require('node:fs');
      const directory = process.env.HOLDFAST_DIR;
      const isBroker = (pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(
            `{"directory":"${directory}`,
          );
        } catch {
          return false;
        }
      };
      const other = openLockManager();
      let end;
      const losses = [];
      await new Promise((granted) => {
        const callback = ({ signal }) => {
          signal.addEventListener('abort', () => losses.push('loss'));
          granted();
          return new Promise((resolve) => (end = resolve));
        };
        void openLockManager().request('a', callback);
      });
      const second = openLockManager().request('a', ({ name }) => name);
      while ((await other.query()).pending.length === 0);
      for (let i = 0; i < 3; i += 1) {
        for (const pid of readdirSync('/proc').filter(isBroker)) process.kill(pid, 'SIGKILL');
        await collect();
        const { held, pending } = await other.query();
        if (held.length !== 1 || pending.length !== 1) return [held, pending];
        await collect();
      }
      end();
      return [await second, losses];
    });
    expect(result).toEqual(['a', []]);
  });
});
