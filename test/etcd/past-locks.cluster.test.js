'use strict';

const { openLockManager } = require('../../lib/index.js');
const { EtcdClient } = require('../../lib/backends/etcd/etcd-client.js');
const { WatchStream } = require('../../lib/backends/etcd/watch-stream.js');
const { EtcdCluster } = require('../support/etcd-cluster.js');

// etcd keeps a removed key in its index until a compaction, and visits it in each range over its
// name. So past locks of a name must not leave more keys than there were requests at once.

const PREFIX = 'past';
const ROUNDS = 100;
/** A request has a key while it waits, and one while it holds the lock. */
const KEYS_OF_REQUEST = 2;

let cluster;
let managers;
beforeEach(async () => {
  cluster = await EtcdCluster.start();
  managers = Array.from({ length: 2 }, () => openLockManager({ url: cluster.url(PREFIX) }));
  await Promise.all(managers.map((locks) => locks.query()));
});
afterEach(async () => {
  for (const locks of managers) locks.close();
  await cluster.stop();
});

/** All keys that requests and notifications have ever had, from the cluster's first revision on. */
async function keysOfHistory() {
  const options = { endpoints: cluster.endpoints, ttlMs: 10_000, isEncrypted: false, files: {} };
  const client = new EtcdClient(options);
  const watches = new WatchStream(client, { reconnects: 0, events: 0, messages: 0, gaps: 0 });
  const end = `${PREFIX}/end`;
  await cluster.control('put', end, '');
  const keys = new Set();
  await new Promise((resolve) => {
    watches.add({
      ...{ key: `${PREFIX}/`, end: `${PREFIX}0`, from: '1', only: 'puts' },
      onEvents: (events) => {
        for (const { key } of events) keys.add(key);
        if (keys.has(end)) resolve();
      },
    });
  });
  watches.close();
  client.close();
  const all = [...keys];
  return {
    requests: all.filter((key) => key.split('/')[2] === 'n'),
    notifications: all.filter((key) => key.split('/')[4] === 'm'),
  };
}

async function expectAtOnce(count) {
  const { requests, notifications } = await keysOfHistory();
  expect(requests.length).toBeGreaterThan(0);
  expect(requests.length).toBeLessThanOrEqual(KEYS_OF_REQUEST * count);
  expect(notifications.length).toBeLessThanOrEqual(count);
}

test('one after the other', async () => {
  for (let i = 0; i < 3 * ROUNDS; i += 1) await managers[0].request('a', () => {});
  const { requests } = await keysOfHistory();
  expect(requests).toHaveLength(1);
});

test('two sessions take turns', async () => {
  const takeTurns = async (locks) => {
    for (let i = 0; i < ROUNDS; i += 1) await locks.request('a', () => {});
  };
  await Promise.all(managers.map(takeTurns));
  await expectAtOnce(2);
});

test('two sessions take turns, and ask for the next one inside', async () => {
  const takeTurns = (locks) =>
    new Promise((resolve, reject) => {
      let count = 0;
      const section = () => {
        count += 1;
        if (count === ROUNDS) resolve();
        else locks.request('a', section).catch(reject);
      };
      locks.request('a', section).catch(reject);
    });
  await Promise.all(managers.map(takeTurns));
  await expectAtOnce(2 * 2);
});

test.each([
  ['aborted', () => ({ signal: AbortSignal.timeout(10) })],
  ['timed out', () => ({ timeout: 1 })],
])('requests are %s', async (_what, optionsOf) => {
  const [holder, other] = managers;
  await holder.request('a', async () => {
    for (let i = 0; i < ROUNDS; i += 1) {
      await expect(other.request('a', optionsOf(), () => {})).rejects.toThrow();
    }
  });
  await expectAtOnce(1 + 1);
});

test('requests are refused', async () => {
  const [holder, other] = managers;
  await holder.request('a', async () => {
    for (let i = 0; i < ROUNDS; i += 1) {
      await other.request('a', { ifAvailable: true }, (lock) => expect(lock).toBeNull());
    }
  });
  await expectAtOnce(1);
});

test.each([
  ['each other', 2],
  ['themselves', 1],
])('sessions rob %s', async (_what, count) => {
  const losses = [];
  const forever = new Promise(() => {});
  for (let i = 0; i < ROUNDS; i += 1) {
    await new Promise((resolve) => {
      const steal = () => {
        resolve();
        return forever;
      };
      losses.push(managers[i % count].request('a', { steal: true }, steal));
      losses.at(-1).catch(() => {});
    });
    if (i > 0) await expect(losses[i - 1]).rejects.toThrow();
  }
  await managers[0].query(); // after what is left of those that were robbed
  // A request whose lock was stolen keeps its id until the session has received that from the
  // cluster.
  await expectAtOnce(2 * count);
});

test('many at once, again and again', async () => {
  for (let i = 0; i < 5; i += 1) {
    await Promise.all(Array.from({ length: ROUNDS }, () => managers[0].request('a', () => {})));
  }
  await expectAtOnce(ROUNDS);
});

test('many names at once, again and again', async () => {
  for (let i = 0; i < 30; i += 1) {
    const names = Array.from({ length: 10 }, (_, k) => `a ${(i + k) % 10}`);
    await Promise.all(names.map((name) => managers[0].request(name, () => {})));
  }
  const { requests } = await keysOfHistory();
  expect(requests.length).toBeLessThanOrEqual(10 * 10);
});
