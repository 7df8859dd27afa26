'use strict';

const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { LocalBackend } = require('../../lib/backends/local/backend.js');
const { LocalLockTable } = require('../../lib/backends/local/lock-table.js');
const { SharedMemoryBackend } = require('../../lib/backends/shared-memory/backend.js');
const { openLockManager } = require('../../lib/index.js');

let directory;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Two lock managers over one table. */
const PAIRS = {
  local() {
    const table = new LocalLockTable();
    return [new LocalBackend(table), new LocalBackend(table)];
  },
  'shared-memory': () => [
    new SharedMemoryBackend({ directory }),
    new SharedMemoryBackend({ directory }),
  ],
};

describe.each(Object.keys(PAIRS))('closing over %s', (backend) => {
  let closed;
  let other;
  beforeEach(() => {
    [closed, other] = PAIRS[backend]().map((each) => openLockManager({ backend: each }));
  });
  afterEach(() => other.close());

  test('a callback that was about to run does not run beside the next holder', async () => {
    const callback = jest.fn();
    const request = closed.request('ledger', callback);
    closed.close();
    expect(await other.request('ledger', { ifAvailable: true }, (lock) => lock?.name)).toBe(
      'ledger',
    );
    await expect(request).rejects.toMatchObject({ name: 'LockLostError', reason: 'disconnected' });
    expect(callback).not.toHaveBeenCalled();
  });

  test('a holder of a lock learns why it is lost', async () => {
    let granted;
    const isGranted = new Promise((resolve) => (granted = resolve));
    const request = closed.request('ledger', () => {
      granted();
      return new Promise(() => {});
    });
    await isGranted;
    closed.close();
    await expect(request).rejects.toThrow(
      "The lock 'ledger' was lost: the lock manager was closed",
    );
    expect(other.isLocked('ledger')).toBe(false);
  });

  test('a request that waits rejects and never calls back', async () => {
    let release;
    const held = other.request('ledger', () => new Promise((resolve) => (release = resolve)));
    const callback = jest.fn();
    const request = closed.request('ledger', callback);
    closed.close();
    await expect(request).rejects.toMatchObject({ name: 'AbortError' });
    release();
    await held;
    await other.request('ledger', () => {});
    expect(callback).not.toHaveBeenCalled();
  });

  test('a listener to the loss of a lock can close the manager', async () => {
    let listening;
    const isListening = new Promise((resolve) => (listening = resolve));
    const victims = ['a', 'b'].map((name) =>
      closed.request(name, ({ signal }) => {
        signal.addEventListener('abort', () => closed.close());
        if (name === 'b') listening();
        return new Promise(() => {});
      }),
    );
    const outcomes = Promise.allSettled(victims);
    await isListening;
    const waiting = closed.request('a', () => {}).catch(({ name }) => name);
    // Both losses are reported together.
    const stealers = ['a', 'b'].map((name) => other.request(name, { steal: true }, () => {}));
    expect((await outcomes).map(({ reason }) => reason.name)).toEqual(['AbortError', 'AbortError']);
    // The close finds it pending, or granted before its callback could run.
    expect(['AbortError', 'LockLostError']).toContain(await waiting);
    await Promise.all(stealers);
  });
});

test.each(['used', 'not used'])('closes a backend that it was given and has %s', async (use) => {
  const backend = new SharedMemoryBackend({ directory });
  const manager = openLockManager({ backend });
  if (use === 'used') await manager.request('ledger', () => {});
  manager.close();
  expect(() => backend.isLocked('ledger')).toThrow('The lock manager is closed');
});

test('a manager whose backend fails to close, or calls it meanwhile, is closed', async () => {
  const backend = new LocalBackend();
  const close = backend.close.bind(backend);
  const locks = openLockManager({ backend });
  let meanwhile;
  backend.close = () => {
    meanwhile = locks.request('a', () => 'granted');
    close();
    throw new Error('it did not work');
  };
  expect(() => locks.close()).toThrow('it did not work');
  await expect(meanwhile).rejects.toMatchObject({ name: 'InvalidStateError' });
  await expect(locks.request('a', () => {})).rejects.toMatchObject({ name: 'InvalidStateError' });
});
