'use strict';

const { closeSync, openSync, readSync, writeSync } = require('node:fs');
const { join } = require('node:path');
const { monitorEventLoopDelay } = require('node:perf_hooks');
const { setTimeout: pause } = require('node:timers/promises');
const { describeWithPreload } = require('../support/preload/index.js');
const { ProcessBucket, untilEqual } = require('../support/process-bucket.js');

// A process is stopped while it is inside the lock table, in the middle of a release: with the lock
// word of one shard in its hand. Without the sweep.
const STOPPED_MS = 400;
const ORDER = 1n;
const CARRIED_OUT = 2n;

describeWithPreload(
  'stop-inside',
  'while a process is stopped inside the lock table',
  (library) => {
    let bucket;
    let order;
    let stopped;
    let waiter;
    let requested;
    let released;
    beforeEach(async () => {
      bucket = new ProcessBucket();
      const file = join(bucket.directory, 'order');
      order = openSync(file, 'w+');
      setOrder(0n);
      const env = { LD_PRELOAD: library, HOLDFAST_TEST_STOP: file };
      [stopped, waiter] = await Promise.all([
        bucket.open('process', { env }),
        bucket.open('process'),
      ]);
      const held = await stopped.hold('a');
      requested = await waiter.request('a');
      setOrder(ORDER);
      released = held.release('kept'); // which grants the lock to the waiter, and stops there
      released.catch(() => {}); // a dead process is not notified
      await untilEqual(readOrder, CARRIED_OUT);
      await stopped.untilStopped(); // which it does right after that
    });
    afterEach(async () => {
      closeSync(order);
      await bucket.close();
    });

    const setOrder = (value) => writeSync(order, new BigInt64Array([value]), 0, 8, 0);
    const readOrder = () => {
      const value = new BigInt64Array(1);
      readSync(order, value, 0, 8, 0);
      return value[0];
    };

    test('requests for its part of the names wait, requests for others do not, timers run', async () => {
      const delay = monitorEventLoopDelay({ resolution: 1 });
      delay.enable();
      const late = bucket.locks.request('a', () => 'late');
      let isSettled = false;
      late.then(() => (isSettled = true));
      let timers = 0;
      const interval = setInterval(() => (timers += 1), 1);
      let others = 0;
      let served = 0;
      const start = performance.now();
      for (; performance.now() < start + STOPPED_MS || timers <= 10 || served <= 10; others += 1) {
        // A shard in 64 is taken; a name may fall into it.
        const request = bucket.locks.request(`other ${others}`, () => true);
        if (await Promise.race([request, pause(20, false)])) served += 1;
        if (others % 8 === 0) await pause(1);
      }
      const passed = performance.now() - start;
      clearInterval(interval);
      delay.disable();
      expect(isSettled).toBe(false);
      const ms = (ns) => (ns / 1e6).toFixed(1);
      console.log(
        `loop delay while a process is stopped inside, ms: p50 ${ms(delay.percentile(50))}, ` +
          `p99 ${ms(delay.percentile(99))}, longest ${ms(delay.max)}; ` +
          `${timers} timers and ${served} requests in ${passed.toFixed(0)} ms`,
      );
      stopped.thaw();
      expect(await released).toEqual({ status: 'fulfilled', value: 'kept' });
      await requested.granted;
      await requested.release();
      expect(await late).toBe('late');
      await bucket.isClean({ processes: 2 });
    });

    test('requests are granted in the order in which they were made, in whichever process', async () => {
      const granted = [];
      const own = [];
      const others = [];
      for (let turn = 0; turn < 8; turn += 1) {
        own.push(bucket.locks.request('a', () => void granted.push(`own ${turn}`)));
        const other = await waiter.request('a');
        others.push(
          other.granted.then(() => {
            granted.push(`other ${turn}`);
            return other.release();
          }),
        );
      }
      stopped.thaw();
      await requested.granted;
      await requested.release();
      await Promise.all([...own, ...others]);
      const turns = Array.from({ length: 8 }, (_, turn) => [`own ${turn}`, `other ${turn}`]);
      expect(granted).toEqual(turns.flat());
    });

    test('a snapshot waits, and shows what came of it', async () => {
      const snapshot = bucket.locks.query();
      stopped.thaw();
      const { held } = await snapshot;
      expect(held).toMatchObject([{ name: 'a', clientId: await waiter.clientId() }]);
    });

    test('a request that has waited for a second reports, once, which process stands still', async () => {
      const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
      const late = [1, 2].map((id) => bucket.locks.request('a', () => id));
      await untilEqual(() => warn.mock.calls.length, 1);
      const [message, options] = warn.mock.calls[0];
      expect(options).toEqual({ type: 'HoldfastWarning', code: 'HOLDFAST_STALLED' });
      expect(message).toContain("The request for 'a' has waited");
      expect(message).toContain(`process ${stopped.pid} is stopped`);
      stopped.thaw();
      await requested.granted;
      await requested.release();
      expect(await Promise.all(late)).toEqual([1, 2]);
      expect(warn).toHaveBeenCalledTimes(1);
      warn.mockRestore();
    });

    // Names of its part are busy until the background thread has repaired that part.
    test('its death is repaired beside the event loop that notices it', async () => {
      const names = Array.from({ length: 640 }, (_, i) => `n${i}`);
      const busy = () => names.filter((name) => bucket.locks.isLocked(name));
      await waiter.freeze(); // or its own thread would repair
      const [found] = busy();
      expect(found).toBeDefined();
      stopped.endBy('SIGKILL');
      await stopped.ended;
      expect(await bucket.locks.request(found, () => 'granted')).toBe('granted');
      await untilEqual(busy, []);
      waiter.thaw();
      await requested.granted;
      await requested.release();
      await bucket.isClean({ processes: 1 });
    });

    test('its death frees what it had in its hand', async () => {
      const late = bucket.locks.request('a', () => 'late');
      stopped.endBy('SIGKILL');
      await requested.granted;
      await requested.release();
      expect(await late).toBe('late');
      await bucket.isClean({ processes: 1 });
    });
  },
);
