'use strict';

const { mkdirSync, mkdtempSync, symlinkSync } = require('node:fs');
const { join } = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { openLockManager } = require('../../lib/index.js');
const { removeLocks } = require('../support/broker-process.js');

let directory;
let managers;
beforeEach(() => {
  directory = mkdtempSync('/dev/shm/holdfast-two-managers-');
  mkdirSync(join(directory, 'real'));
  symlinkSync(join(directory, 'real'), join(directory, 'link'));
});
afterEach(() => {
  for (const manager of managers) manager.close();
  removeLocks(new BrokerFiles('same', directory)); // and all below it
});

describe.each(['shm:', 'broker:'])('over %s', (scheme) => {
  beforeEach(() => {
    const open = (folder, bucket) =>
      openLockManager({ url: `${scheme}//${directory}/${folder}/locks`, bucket });
    managers = [open('real', 'same'), open('link', 'same'), open('real', 'other')];
    return Promise.all(managers.map((manager) => manager.query())); // a broker has started
  });

  test('a lock of one manager covers a request of another of the same bucket', async () => {
    const [first, second] = managers;
    const options = { reentrant: true, timeout: 0 };
    const result = await first.request('a', options, () =>
      second.request('a', options, () => 'covered'),
    );
    expect(result).toBe('covered');
  });

  test('a lock of another bucket covers nothing', async () => {
    const [first, , other] = managers;
    await other.request('a', { reentrant: true }, () =>
      first.request('a', { reentrant: true }, async () => {
        const { held } = await first.query();
        expect(held).toHaveLength(1);
      }),
    );
  });

  test('a request inside a lock of another manager of the bucket closes a cycle', async () => {
    const [first, second] = managers;
    await first.request('a', { deadlock: 'reject' }, async () => {
      const nested = second.request('a', { deadlock: 'reject' }, () => {});
      await expect(nested).rejects.toMatchObject({ name: 'DeadlockError' });
    });
  });

  test('requestSync() of one manager inside a lock of another of the bucket is refused', async () => {
    const [first, second] = managers;
    await first.request('a', () => {
      const wait = () => second.requestSync('a', { timeout: 60_000 }, () => {});
      expect(wait).toThrow(expect.objectContaining({ name: 'DeadlockError' }));
    });
  });

  test('shared locks of two managers are held together by one thread', async () => {
    const [first, second] = managers;
    const result = await first.request('a', { mode: 'shared' }, () =>
      second.requestSync('a', { mode: 'shared', timeout: 60_000 }, () => 'granted'),
    );
    expect(result).toBe('granted');
  });
});
