'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { openLockManager } = require('../../lib/index.js');
const { BACKENDS } = require('../support/combinations.js');
const { startScript } = require('../support/script.js');

const HOST_KINDS = ['process', 'worker'];
const CLEAN_END = { code: 0, errors: '' };

let directory;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe.each(BACKENDS)('lifetime of the event loop [%s]', (backend) => {
  describe.each(HOST_KINDS)('of a %s', (hostKind) => {
    const run = (body) => startScript(hostKind, { backend, directory }, body).end();

    test('a pending request keeps it alive until it is granted', async () => {
      const end = await run(async ({ locks, print }) => {
        // The timer that ends the holder does not keep the loop alive itself.
        locks.request('a', () => new Promise((resolve) => setTimeout(resolve, 20).unref()));
        await locks.request('a', () => print('granted'));
        print('end');
      });
      expect(end).toEqual({ ...CLEAN_END, lines: ['granted', 'end'] });
    });

    test('a pending request keeps it alive also after a time without one', async () => {
      const end = await run(async ({ locks, print }) => {
        const holdFor = (ms) => () => new Promise((resolve) => setTimeout(resolve, ms).unref());
        for (const time of ['first', 'second']) {
          locks.request('i', holdFor(20));
          await locks.request('i', () => print(`granted the ${time} time`));
        }
      });
      const lines = ['granted the first time', 'granted the second time'];
      expect(end).toEqual({ ...CLEAN_END, lines });
    });

    test('a held lock does not keep it alive', async () => {
      const end = await run(async ({ locks, print }) => {
        locks.request('b', () => {
          print('granted');
          return new Promise(() => {});
        });
      });
      expect(end).toEqual({ ...CLEAN_END, lines: ['granted'] });
    });

    test('a lock manager that was used and is idle does not keep it alive', async () => {
      const end = await run(async ({ locks, print }) => {
        let queued;
        await locks.request('c', () => {
          queued = locks.request('c', () => {});
        });
        await queued;
        print((await locks.query()).held.length);
      });
      expect(end).toEqual({ ...CLEAN_END, lines: ['0'] });
    });

    test('an aborted request does not keep it alive', async () => {
      const end = await run(async ({ locks, print }) => {
        locks.request('d', () => new Promise(() => {}));
        const controller = new AbortController();
        const waiting = locks.request('d', { signal: controller.signal }, () => {});
        controller.abort('aborted');
        print(await waiting.catch((reason) => reason));
      });
      expect(end).toEqual({ ...CLEAN_END, lines: ['aborted'] });
    });

    test('a closed lock manager does not keep it alive', async () => {
      const end = await run(async ({ locks, print }) => {
        let holder;
        await new Promise((resolve) => {
          holder = locks.request('e', () => {
            resolve(undefined);
            return new Promise(() => {});
          });
        });
        const waiting = locks.request('e', () => {});
        locks.close();
        const outcomes = await Promise.allSettled([holder, waiting]);
        for (const { reason } of outcomes) print(reason.name);
      });
      expect(end).toEqual({ ...CLEAN_END, lines: ['LockLostError', 'AbortError'] });
    });

    test('a later rejection of the callback of a stolen lock is no unhandled rejection', async () => {
      const end = await run(async ({ locks, print }) => {
        let fail;
        let isGranted;
        const granted = new Promise((resolve) => (isGranted = resolve));
        const victim = locks.request('f', () => {
          isGranted();
          return new Promise((_, reject) => (fail = reject));
        });
        await granted;
        const stealer = locks.request('f', { steal: true }, () => {});
        print(await victim.catch(({ name }) => name));
        fail(new Error('late'));
        await stealer;
        await new Promise((resolve) => setImmediate(resolve)); // a rejection would end the script
        print('end');
      });
      expect(end).toEqual({ ...CLEAN_END, lines: ['AbortError', 'end'] });
    });

    test('thousands of requests with one signal cause no warning', async () => {
      const end = await run(async ({ locks, print }) => {
        process.on('warning', ({ name }) => print(name));
        const { signal } = new AbortController();
        await Promise.all(
          Array.from({ length: 2_000 }, () => locks.request('g', { signal }, () => {})),
        );
        print('end');
      });
      expect(end).toEqual({ ...CLEAN_END, lines: ['end'] });
    });
  });
});

// Over the local backend the holder is in the same thread, which the tests above cover.
if (BACKENDS.includes('shared-memory')) {
  test.each(HOST_KINDS)(
    'a %s whose only work is a pending request lives until another thread releases the lock',
    async (hostKind) => {
      const bucket = { backend: 'shared-memory', directory };
      const locks = openLockManager({ directory, bucket: 'scripts' });
      let script;
      await locks.request('h', async () => {
        script = startScript(hostKind, bucket, async ({ locks: mine, print }) => {
          const request = mine.request('h', () => print('granted'));
          print('asked');
          await request;
        });
        await script.printed('asked');
      });
      expect(await script.end()).toEqual({ ...CLEAN_END, lines: ['asked', 'granted'] });
      locks.close();
    },
  );
}
