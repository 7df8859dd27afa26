'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { setTimeout: pause } = require('node:timers/promises');
const { openLockManager } = require('../../lib/index.js');
const { EtcdCluster } = require('../support/etcd-cluster.js');

const PROGRAM = path.join(__dirname, '..', 'support', 'etcd-holder-program.js');
const CLOSER = path.join(__dirname, '..', 'support', 'etcd-closer-program.js');
/** Longer than the test may take: the lease does not run out during the test. */
const URL_OPTIONS = '?ttl=600';
/** So old is a grant at most when its holder dies. */
const MAX_AGE_MS = 50;

let cluster;
beforeAll(async () => {
  cluster = await EtcdCluster.start();
});
afterAll(async () => {
  await cluster.stop();
});

/** A process holds a lock that this one waits for, and is killed. */
async function killHolder(locks, url) {
  const holder = fork(PROGRAM, [url, 'a'], { execArgv: [] });
  await once(holder, 'message');
  const granted = locks.request('a', () => true);
  await locks.query();
  holder.kill('SIGKILL');
  expect(await granted).toBe(true);
}

test('a process that is killed beside a living one frees its locks before its lease ends', async () => {
  const url = cluster.url('link', URL_OPTIONS);
  const locks = openLockManager({ url });
  await locks.query();
  for (let round = 0; round < 3; round += 1) await killHolder(locks, url);
  locks.close();
});

test('so does one whose URL names the same cluster in other words', async () => {
  const url = cluster.url('words', URL_OPTIONS);
  const other = url.replaceAll('127.0.0.1', 'localhost');
  expect(other).not.toBe(url);
  const locks = openLockManager({ url });
  await locks.query();
  await killHolder(locks, other);
  locks.close();
});

test('so do all sessions of a process, though they waited for each other', async () => {
  const url = cluster.url('sessions', URL_OPTIONS);
  const locks = openLockManager({ url });
  await locks.query();
  for (let round = 0; round < 3; round += 1) {
    const names = ['a', 'b', 'c'];
    const holder = fork(PROGRAM, [url, ...names], { execArgv: [] });
    await new Promise((resolve) => {
      let held = 0;
      holder.on('message', () => ++held === names.length && resolve());
    });
    const granted = names.map((name) => locks.request(name, () => true));
    await locks.query();
    holder.kill('SIGKILL');
    expect(await Promise.all(granted)).toEqual([true, true, true]);
  }
  locks.close();
});

// After a long wait the next waiter is not checked for up to a second (E6): it is granted by the
// process that ends the lease of the dead one.
test('a lock is given on, whenever after its grant the holder is killed', async () => {
  const url = cluster.url('granted', URL_OPTIONS);
  const [locks, waiter] = [openLockManager({ url }), openLockManager({ url })];
  for (let round = 0; round < 6; round += 1) {
    const gate = await locks.acquire('a');
    const holder = fork(PROGRAM, [url, 'a'], { execArgv: [] });
    const isHeld = once(holder, 'message');
    while ((await locks.query()).pending.length === 0);
    const granted = waiter.request('a', () => 'granted');
    await waiter.query();
    gate.release();
    await isHeld;
    await pause(Math.random() * MAX_AGE_MS);
    holder.kill('SIGKILL');
    expect(await granted).toBe('granted');
  }
  for (const it of [locks, waiter]) it.close();
});

test('a process that exits in order leaves no key behind, though no other is beside it', async () => {
  // An exit waits for a second; where the machine stands still as long, keys stay: once more.
  for (let round = 0, isInTime = false; !isInTime; round += 1) {
    const prefix = `exit-${round}`;
    const holder = fork(PROGRAM, [cluster.url(prefix, URL_OPTIONS), 'a'], { execArgv: [] });
    await once(holder, 'message');
    expect((await cluster.keys(prefix)).length).toBeGreaterThan(0);
    holder.send('exit');
    const start = performance.now();
    await once(holder, 'exit');
    isInTime = performance.now() - start < 1_000;
    if (isInTime) expect(await cluster.keys(prefix)).toEqual([]);
  }
});

test('a process that dies alone frees its locks when its lease ends', async () => {
  const home = mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  const locks = openLockManager({ url: cluster.url('alone') });
  try {
    // A different machine: no process there waits for its death.
    const env = { ...process.env, HOLDFAST_DIR: home };
    const url = cluster.url('alone', '?ttl=10');
    const holder = fork(PROGRAM, [url, 'a'], { execArgv: [], env });
    await once(holder, 'message');
    const granted = locks.request('a', () => 'granted');
    expect((await locks.query()).pending).toHaveLength(1);
    holder.kill('SIGKILL');
    expect(await granted).toBe('granted');
  } finally {
    locks.close();
    rmSync(home, { recursive: true });
  }
});

test('a manager that is closed while the cluster is silent does not keep its process', async () => {
  const home = mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  const [member] = cluster.members;
  const url = cluster.url('silent', '?ttl=3600');
  const env = { ...process.env, HOLDFAST_DIR: home };
  const closer = fork(CLOSER, [url], { execArgv: [], env });
  await once(closer, 'message');
  member.signal('SIGSTOP');
  try {
    closer.send('close');
    expect(await once(closer, 'exit')).toEqual([0, null]);
  } finally {
    member.signal('SIGCONT');
    rmSync(home, { recursive: true });
  }
});
