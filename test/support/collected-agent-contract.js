'use strict';

// An agent that JavaScript refers to no more is given up by collection, unless it holds, waits for
// or watches something. Over the backend of HOLDFAST_URL.

const { runWithCollector } = require('./collector-program.js');

/** @param {number} howMany  agents a test opens; each may be a thread */
function testCollectedAgents(howMany) {
  test('agents that hold, wait for and watch nothing leave no descriptor behind', () => {
    const result = runWithCollector(
      async ({ openLockManager, collect, agents }) => {
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
        for (let i = 0; i < agents; i += 1) await use();
        // A connection ends after some more turns of the loop.
        for (let i = 0; i < 1000 && count() > atFirst; i += 1) await collect();
        return count() - atFirst;
      },
      { agents: howMany },
    );
    expect(result).toBeLessThanOrEqual(0);
  });

  test('agents that have blocked the thread leave no descriptor behind', () => {
    const result = runWithCollector(
      async ({ openLockManager, collect, agents }) => {
        const { readdirSync } = require('node:fs');
        const count = () => readdirSync('/proc/self/fd').length;
        const use = () => openLockManager().requestSync('a', () => {});
        use();
        const atFirst = count();
        for (let i = 0; i < agents; i += 1) use();
        for (let i = 0; i < 1000 && count() > atFirst; i += 1) await collect();
        return count() - atFirst;
      },
      { agents: howMany },
    );
    expect(result).toBeLessThanOrEqual(0);
  });

  test('locks that nothing refers to stay held, by the lock table and by a biased lock', () => {
    const result = runWithCollector(async ({ locks, openLockManager, collect }) => {
      let held = 0;
      const never = () => {
        held += 1;
        return new Promise(() => {});
      };
      await (async () => {
        void openLockManager().request('in the table', never);
        const manager = openLockManager();
        for (let i = 0; i < 3; i += 1) await manager.request('biased', () => {});
        await new Promise((resolve) => setTimeout(resolve, 5)); // so that the agent was idle
        void manager.request('biased', never);
      })();
      for (let i = 0; i < 1000 && held < 2; i += 1) await collect();
      return ['in the table', 'biased'].map((name) => locks.isLocked(name));
    });
    expect(result).toEqual([true, true]);
  });

  test('a lock of an evaluation of the package that was dropped stays held', () => {
    const result = runWithCollector(async ({ locks, collect, library }) => {
      let held = false;
      (() => {
        for (const file of Object.keys(require.cache)) delete require.cache[file];
        module.children.length = 0;
        void require(library).locks.request('a', () => {
          held = true;
          return new Promise(() => {});
        });
        for (const file of Object.keys(require.cache)) delete require.cache[file];
        module.children.length = 0;
      })();
      for (let i = 0; i < 1000 && !held; i += 1) await collect();
      await collect();
      return locks.isLocked('a');
    });
    expect(result).toBe(true);
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
    const result = runWithCollector(
      async ({ locks, openLockManager, collect, agents }) => {
        let answered = 0;
        const count = () => (answered += 1);
        for (let i = 0; i < agents; i += 1) {
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
        for (let i = 0; i < 10_000 && answered < 3 * agents; i += 1) {
          await locks.query();
          await new Promise((resolve) => setImmediate(resolve));
        }
        return answered;
      },
      { agents: howMany },
    );
    expect(result).toBe(3 * howMany);
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
}

module.exports = { testCollectedAgents };
