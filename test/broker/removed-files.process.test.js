'use strict';

const fs = require('node:fs');
const net = require('node:net');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerFiles, newBrokerSocket } = require('../../lib/backends/broker/broker-files.js');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { Broker, openReadingBarrier } = require('../../lib/backends/broker/server/broker.js');
const { openLockManager } = require('../../lib/index.js');
const { removeLocks } = require('../support/broker-process.js');

// Two domains of locks must not come about unnoticed: a holder at a broker that others cannot find
// any more is notified.

let directory;
let files;
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  files = new BrokerFiles('default', directory);
});
afterEach(() => removeLocks(files));

test.each([
  ['the folder', () => fs.rmSync(files.folder, { recursive: true, force: true })],
  ['the claim', () => fs.rmSync(files.epochFile(1))],
  ['the socket', () => fs.rmSync(files.readEpoch(1).socket)],
])(
  '%s of a broker is removed: holders are notified, and other clients continue',
  async (_what, remove) => {
    const [one, other] = [1, 2].map(() =>
      openLockManager({ backend: new BrokerBackend({ directory }) }),
    );
    let holding;
    const isHolding = new Promise((resolve) => (holding = resolve));
    const held = one.request('a', (lock) => {
      holding(lock);
      return new Promise(() => {});
    });
    const lock = await isHolding;
    const waiting = other.request('a', () => {});
    waiting.catch(() => {});
    await other.query();
    remove();
    await expect(held).rejects.toMatchObject({ reason: 'disconnected' });
    expect(lock.signal.aborted).toBe(true);
    await expect(waiting).rejects.toMatchObject({ name: 'InvalidStateError' });
    expect(await other.request('a', () => 'again')).toBe('again');
    expect(await one.request('a', () => 'again')).toBe('again');
    one.close();
    other.close();
  },
);

const openAt = () => openLockManager({ backend: new BrokerBackend({ directory }) });

/** The first event of a watch; the query of the other client has started the new broker. */
async function watchOne(locks, other) {
  await other.query();
  const watch = locks.watch('ledger');
  const first = watch.next();
  await locks.query();
  await locks.request('ledger', () => {});
  const { type } = (await first).value;
  await watch.return();
  return type;
}

describe.each([
  ['that has blocked no thread yet', async (locks) => locks.request('ledger', () => {})],
  ['that has blocked its thread before', async (locks) => locks.requestSync('ledger', () => {})],
])('a client that had nothing, and %s, continues in the new folder with', (_which, use) => {
  test.each([
    ['query()', async (locks) => (await locks.query()).held, []],
    ['inspect()', async (locks) => (await locks.inspect()).held, []],
    ['isLocked()', async (locks) => locks.isLocked('ledger'), false],
    ['request()', (locks) => locks.request('ledger', () => 'ran'), 'ran'],
    ['requestSync()', async (locks) => locks.requestSync('ledger', () => 'ran'), 'ran'],
    ['watch()', watchOne, 'granted'],
  ])('%s', async (_call, call, expected) => {
    const locks = openAt();
    const other = openAt();
    await use(locks);
    await other.query();
    fs.rmSync(files.folder, { recursive: true, force: true });
    expect(await call(locks, other)).toEqual(expected);
    const newcomer = openAt();
    await newcomer.request('ledger', async () => {
      expect(await locks.request('ledger', { ifAvailable: true }, (it) => it)).toBeNull();
    });
    for (const manager of [locks, other, newcomer]) manager.close();
  });
});

test('a client that finds a dead broker, in a folder that is removed now, makes the folder again', async () => {
  files.ensure();
  const socket = newBrokerSocket(files);
  files.claimEpoch({ number: 1, socket, key: 'k'.repeat(64), pid: process.pid });
  const locks = openAt();
  const granted = locks.request('ledger', () => 'ran'); // it connects
  fs.rmSync(files.folder, { recursive: true, force: true });
  expect(await granted).toBe('ran');
  locks.close();
});

test.each([1, 2, 3])('a folder that is removed while it is made (%d) is made again', async (at) => {
  const { mkdirSync } = fs;
  let left = at;
  const mkdir = jest.spyOn(fs, 'mkdirSync').mockImplementation((folder, options) => {
    const made = mkdirSync(folder, options);
    if (String(folder).startsWith(directory) && (left -= 1) === 0) {
      fs.rmSync(folder, { recursive: true, force: true });
    }
    return made;
  });
  let locks;
  try {
    locks = openAt();
    expect(await locks.request('ledger', () => 'ran')).toBe('ran');
    expect(left).toBeLessThanOrEqual(0);
  } finally {
    mkdir.mockRestore();
    locks?.close();
  }
});

/**
 * A broker in this process, which no watch notifies.
 * @param {() => void} [onAccepted]  called for each connection
 * @returns {Promise<{ hasEnded: Promise<unknown> }>}
 */
async function startUnwatchedBroker(onAccepted = () => {}) {
  files.ensure();
  const epoch = {
    number: 1,
    socket: newBrokerSocket(files),
    key: 'k'.repeat(64),
    pid: process.pid,
  };
  const server = net.createServer((socket) => {
    broker.accept(socket);
    onAccepted();
  });
  const hasEnded = new Promise((resolve) => server.once('close', resolve));
  const broker = new Broker(files, epoch, {
    idleMs: 60_000,
    afterReading: openReadingBarrier(files),
    onEnd: () => server.close(),
    log: () => {},
  });
  await new Promise((resolve) => server.listen({ path: epoch.socket, exclusive: true }, resolve));
  expect(files.claimEpoch(epoch)).toBe(true);
  broker.recover();
  return { hasEnded };
}

describe('a broker that no watch has notified, after its folder was removed,', () => {
  test('serves no request', async () => {
    const { hasEnded } = await startUnwatchedBroker();
    const locks = openAt();
    await locks.query();
    expect(files.readEpoch(1).pid).toBe(process.pid);
    fs.rmSync(files.folder, { recursive: true, force: true });
    const newcomer = openAt();
    await newcomer.request('ledger', async () => {
      expect(await locks.request('ledger', { ifAvailable: true }, (lock) => lock)).toBeNull();
    });
    for (const manager of [locks, newcomer]) manager.close();
    await hasEnded;
  });

  test('knows no request that came with the handshake: the client continues', async () => {
    let remove = () => {};
    const { hasEnded } = await startUnwatchedBroker(() => remove());
    const [locks, other] = [openAt(), openAt()];
    await other.query();
    remove = () => {
      fs.rmSync(files.folder, { recursive: true, force: true });
      remove = () => {};
    };
    expect(await locks.request('ledger', () => 'ran')).toBe('ran');
    for (const manager of [locks, other]) manager.close();
    await hasEnded;
  });

  test('grants nothing when a hold limit passes', async () => {
    const { hasEnded } = await startUnwatchedBroker();
    const [locks, other] = [openAt(), openAt()];
    const first = await locks.acquire('ledger');
    const limited = locks.acquire('ledger', { holdLimit: 1000 });
    let isInside = false;
    let beganBeside = false;
    const waiting = other.request('ledger', () => {
      beganBeside = isInside;
    });
    while ((await locks.query()).pending.length < 2);
    void first.release();
    const held = await limited; // with its successor in the queue, however long that took
    fs.rmSync(files.folder, { recursive: true, force: true });
    const newcomer = openAt();
    await newcomer.request('ledger', async () => {
      isInside = true;
      await waiting.catch(() => {});
      isInside = false;
    });
    expect(beganBeside).toBe(false);
    expect(held.signal.aborted).toBe(true);
    for (const manager of [locks, other, newcomer]) manager.close();
    await hasEnded;
  });
});
