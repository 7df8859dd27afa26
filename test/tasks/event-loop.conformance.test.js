'use strict';

const { describeInThreads } = require('./in-threads.js');

// The order of the priorities within Node's event loop. Each body starts from a known phase.
describeInThreads('event loop', (run) => {
  test(
    'user-blocking tasks and user-visible continuations run ahead of timers that are due',
    run(async ({ createScheduler, assert }) => {
      // No pause of the machine ends a run of its tasks.
      const scheduler = createScheduler({ budget: 1e9 });
      const spin = (ms) => {
        for (const start = performance.now(); performance.now() - start < ms;);
      };
      for (const start of [setImmediate, setTimeout]) {
        await new Promise((resolve) => start(resolve));
        const ids = [];
        const timer = new Promise((resolve) => {
          setTimeout(() => resolve(ids.push('timer')));
        });
        spin(3);
        const continuation = scheduler.yield().then(() => ids.push('continuation'));
        const options = { priority: 'user-blocking' };
        const blocking = scheduler.postTask(() => ids.push('blocking'), options);
        await Promise.all([timer, continuation, blocking]);
        assert.deepEqual(ids, ['blocking', 'continuation', 'timer'], start.name);
      }
    }),
  );

  test(
    'user-blocking tasks run ahead of I/O that is ready',
    run(async ({ createScheduler, assert, require }) => {
      const scheduler = createScheduler({ budget: 1e9 });
      const fs = require('node:fs');
      const ids = [];
      await new Promise((resolve) => setTimeout(resolve));
      const io = new Promise((resolve) => {
        fs.stat('.', () => resolve(ids.push('I/O')));
      });
      for (const start = performance.now(); performance.now() - start < 20;);
      const blocking = scheduler.postTask(() => ids.push('blocking'), {
        priority: 'user-blocking',
      });
      await Promise.all([io, blocking]);
      assert.deepEqual(ids, ['blocking', 'I/O']);
    }),
  );

  test(
    'user-visible tasks, timers and immediates take turns',
    run(async ({ scheduler, assert }) => {
      const counts = { task: 0, immediate: 0, timer: 0 };
      let goesOn = true;
      const task = () => {
        counts.task += 1;
        for (const start = performance.now(); performance.now() - start < 0.5;);
        return goesOn ? scheduler.postTask(task) : undefined;
      };
      const immediate = () => {
        counts.immediate += 1;
        if (goesOn) setImmediate(immediate);
      };
      setImmediate(immediate);
      const tasks = task();
      await new Promise((resolve) => {
        const interval = setInterval(() => {
          counts.timer += 1;
          // A thread that stands still in a phase runs the timer several times in it.
          const least = Math.min(...Object.values(counts));
          if (least < 5 && counts.timer < 500) return;
          clearInterval(interval);
          resolve();
        }, 1);
      });
      goesOn = false;
      await tasks;
      for (const [name, count] of Object.entries(counts)) {
        assert.ok(count >= 5, `${name}: ${count}`);
      }
    }),
  );

  test(
    'background tasks run only when timers, immediates and other tasks are done',
    run(async ({ scheduler, assert }) => {
      await new Promise((resolve) => setImmediate(resolve));
      const ids = [];
      const background = scheduler.postTask(() => ids.push('background'), {
        priority: 'background',
      });
      const busy = new Promise((resolve) => {
        let left = 20;
        const immediate = () => {
          ids.push('immediate');
          left -= 1;
          if (left > 0) setImmediate(immediate);
          else resolve();
        };
        setImmediate(immediate);
      });
      const visible = scheduler.postTask(() => ids.push('visible'));
      await Promise.all([background, busy, visible]);
      assert.equal(ids.indexOf('background'), ids.length - 1);
      assert.equal(ids.length, 22);
    }),
  );

  test(
    'a timer that comes due while background tasks run is not kept waiting by the rest of them',
    run(async ({ scheduler, assert }) => {
      const ids = [];
      const tasks = [];
      for (let i = 0; i < 6; i += 1) {
        const body = () => {
          if (i === 0) setTimeout(() => ids.push('timer'));
          ids.push(i);
          for (const start = performance.now(); performance.now() - start < 3;);
        };
        tasks.push(scheduler.postTask(body, { priority: 'background' }));
      }
      await Promise.all(tasks);
      assert.deepEqual(ids, [0, 'timer', 1, 2, 3, 4, 5]);
    }),
  );

  test(
    'a user-blocking task that a background task posts is the next one',
    run(async ({ scheduler, assert }) => {
      const ids = [];
      const tasks = Array.from({ length: 100 }, (_, i) =>
        scheduler.postTask(
          () => {
            ids.push(i);
            if (i !== 3) return undefined;
            return scheduler.postTask(() => ids.push('blocking'), { priority: 'user-blocking' });
          },
          { priority: 'background' },
        ),
      );
      await Promise.all(tasks);
      assert.deepEqual(ids.slice(0, 6), [0, 1, 2, 3, 'blocking', 4]);
    }),
  );

  test(
    'no priority starves timers and I/O',
    run(async ({ scheduler, assert, require }) => {
      const fs = require('node:fs');
      for (const priority of ['user-blocking', 'user-visible', 'background']) {
        let goesOn = true;
        const task = () => {
          for (const start = performance.now(); performance.now() - start < 0.2;);
          return goesOn ? scheduler.postTask(task, { priority }) : undefined;
        };
        const tasks = task();
        for (let i = 0; i < 3; i += 1) {
          await new Promise((resolve) => setTimeout(resolve));
          await new Promise((resolve) => setImmediate(resolve));
          await new Promise((resolve) => fs.stat('.', resolve));
        }
        goesOn = false;
        await tasks;
        assert.deepEqual(scheduler.inspect()[priority].tasks, 0);
      }
    }),
  );

  test(
    'an await of yield() without end starves nothing either',
    run(async ({ scheduler, assert }) => {
      let goesOn = true;
      let count = 0;
      const loop = async () => {
        while (goesOn) {
          await scheduler.yield();
          count += 1;
        }
      };
      const loops = [
        scheduler.postTask(loop, { priority: 'user-blocking' }),
        scheduler.postTask(loop, { priority: 'background' }),
      ];
      for (let i = 0; i < 5; i += 1) await new Promise((resolve) => setTimeout(resolve, 1));
      goesOn = false;
      await Promise.all(loops);
      assert.ok(count > 0);
    }),
  );
});
