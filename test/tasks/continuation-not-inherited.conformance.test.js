'use strict';

const { describeInThreads } = require('./in-threads.js');

// Whether yield() inherits is seen in a race: the continuation of a background task runs after a
// user-visible task, a continuation without inherited state before it. Prioritized Task Scheduling,
// #event-loop-current-scheduling-state; HTML, HostMakeJobCallback and HostCallJobCallback.
describeInThreads('continuation state is not inherited', (run) => {
  test(
    'by timers, immediates, ticks, events, I/O and messages, nor by what awaits in them',
    run(async ({ scheduler, assert, require }) => {
      const race = async () => {
        await undefined;
        const ids = [];
        const task = scheduler.postTask(() => ids.push('task'));
        await scheduler.yield().then(() => ids.push('continuation'));
        await task;
        return ids;
      };
      const { EventEmitter } = require('node:events');
      const fs = require('node:fs');
      const net = require('node:net');
      const { MessageChannel } = require('node:worker_threads');
      const emitter = new EventEmitter();
      const ways = {
        'setTimeout()': (done) => setTimeout(() => done(race())),
        'a timer of a timer': (done) => setTimeout(() => setTimeout(() => done(race()))),
        'setInterval()': (done) => {
          let count = 0;
          const interval = setInterval(() => {
            count += 1;
            if (count < 3) return;
            clearInterval(interval);
            done(race());
          });
        },
        'setImmediate()': (done) => setImmediate(() => done(race())),
        'process.nextTick()': (done) => process.nextTick(() => done(race())),
        'a timer in a continuation': async (done) => {
          await scheduler.yield();
          setTimeout(() => done(race()));
        },
        'a callback of the file system': (done) => fs.stat('.', () => done(race())),
        'a stream': (done) => {
          fs.createReadStream(process.execPath, { end: 9 }).once('data', () => done(race()));
        },
        'a socket': (done) => {
          const server = net.createServer((socket) => socket.end('x')).listen(0, '127.0.0.1');
          server.once('listening', () => {
            const socket = net.connect(server.address().port, '127.0.0.1');
            socket.once('data', () => {
              socket.destroy();
              server.close();
              done(race());
            });
          });
        },
        'a message': (done) => {
          const { port1, port2 } = new MessageChannel();
          port1.on('message', () => {
            port1.close();
            done(race());
          });
          port2.postMessage('x');
        },
        'an event that is emitted by a timer': (done) => {
          emitter.once('event', () => done(race()));
          setTimeout(() => emitter.emit('event'));
        },
      };
      for (const [way, start] of Object.entries(ways)) {
        const ids = await new Promise((done) => {
          scheduler.postTask(() => void start(done), { priority: 'background' });
        });
        assert.deepEqual(ids, ['continuation', 'task'], way);
      }
    }),
  );

  test(
    'by the next task, and by code outside that awaits the task',
    run(async ({ scheduler, assert }) => {
      const race = async () => {
        const ids = [];
        const task = scheduler.postTask(() => ids.push('task'));
        await scheduler.yield().then(() => ids.push('continuation'));
        await task;
        return ids;
      };
      await new Promise((resolve) => setTimeout(resolve));
      await scheduler.postTask(() => {}, { priority: 'background' });
      assert.deepEqual(await race(), ['continuation', 'task']);
      const [, ids] = await Promise.all([
        scheduler.postTask(() => {}, { priority: 'background' }),
        scheduler.postTask(race, { priority: 'user-visible' }),
      ]);
      assert.deepEqual(ids, ['continuation', 'task']);
    }),
  );

  test(
    'by a task that a task posts',
    run(async ({ scheduler, TaskController, assert }) => {
      const controller = new TaskController({ priority: 'background' });
      const inner = await new Promise((resolve) => {
        scheduler.postTask(
          () => {
            const { signal } = controller;
            resolve({ posted: scheduler.postTask(() => scheduler.yield(), {}), signal });
          },
          { signal: controller.signal },
        );
      });
      controller.abort('reason');
      assert.equal(await inner.posted, undefined);
    }),
  );
});
