'use strict';

// An agent that JavaScript refers to no more is given up by collection, unless it holds, waits for
// or watches something.

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { runWithCollector } = require('../support/collector-program.js');

const before = process.env.HOLDFAST_DIR;
let directory;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'holdfast-collected-'));
  process.env.HOLDFAST_DIR = directory;
});
afterEach(() => {
  rmSync(directory, { recursive: true });
  if (before === undefined) delete process.env.HOLDFAST_DIR;
  else process.env.HOLDFAST_DIR = before;
});

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
    await collect();
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
    let granted;
    await locks.request('a', async () => {
      granted = new Promise((resolve) => {
        void openLockManager().request('a', () => {
          order.push('granted');
          resolve();
        });
      });
      await collect();
      order.push('released');
    });
    await granted;
    return order;
  });
  expect(result).toEqual(['released', 'granted']);
});

test('a watch whose manager nothing refers to continues', () => {
  const result = runWithCollector(async ({ locks, openLockManager, collect }) => {
    const seen = new Promise((resolve) => {
      void (async () => {
        for await (const { type } of openLockManager().watch('a')) return resolve(type);
      })();
    });
    await collect();
    await locks.request('a', () => {});
    return seen;
  });
  expect(result).toBe('granted');
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
