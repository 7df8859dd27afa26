'use strict';

// Many requests of one agent at once. Each load checks what it does, and leaves nothing behind.

const assert = require('node:assert/strict');

/** @typedef {import('../types').LockManager} LockManager */

/**
 * @typedef {object} Load
 * @property {string} title
 * @property {(locks: LockManager, count: number) => Promise<void>} run
 */

/** @returns {{ promise: Promise<void>, resolve: () => void }} */
function deferred() {
  let resolve = () => {};
  const promise = new Promise((resolveIt) => {
    resolve = () => resolveIt(undefined);
  });
  return { promise, resolve };
}

/**
 * Holds an exclusive lock; resolves with a function that releases it.
 * @param {LockManager} locks
 * @param {string} name
 */
async function hold(locks, name) {
  const granted = deferred();
  const end = deferred();
  const released = locks.request(name, () => {
    granted.resolve();
    return end.promise;
  });
  await granted.promise;
  return () => {
    end.resolve();
    return released;
  };
}

/** @type {Load['run']} */
async function queueExclusive(locks, count) {
  const release = await hold(locks, 'queue');
  let granted = 0;
  const requests = [];
  for (let i = 0; i < count; i += 1) {
    requests.push(
      locks.request('queue', () => {
        assert.equal(i, granted, 'in the order of the requests');
        granted += 1;
      }),
    );
  }
  await release();
  await Promise.all(requests);
  assert.equal(granted, count);
}

/** @type {Load['run']} */
async function queueShared(locks, count) {
  const release = await hold(locks, 'queue');
  const all = deferred();
  let granted = 0;
  const requests = [];
  for (let i = 0; i < count; i += 1) {
    requests.push(
      locks.request('queue', { mode: 'shared' }, () => {
        granted += 1;
        if (granted === count) all.resolve();
        return all.promise; // no holder releases before all hold it
      }),
    );
  }
  await release();
  await Promise.all(requests);
  assert.equal(granted, count);
}

/** @type {Load['run']} */
async function holdNames(locks, count) {
  const all = deferred();
  let granted = 0;
  const requests = [];
  for (let i = 0; i < count; i += 1) {
    requests.push(
      locks.request(`name ${i}`, () => {
        granted += 1;
        if (granted === count) all.resolve();
        return all.promise;
      }),
    );
  }
  await Promise.all(requests);
  assert.equal(granted, count);
}

/** @type {Load['run']} */
async function abortQueued(locks, count) {
  const release = await hold(locks, 'queue');
  const controller = new AbortController();
  const reason = new Error('aborted on purpose');
  let rejected = 0;
  const requests = [];
  for (let i = 0; i < count; i += 1) {
    const request = locks.request('queue', { signal: controller.signal }, () => {
      assert.fail('called back after the abort');
    });
    requests.push(
      request.catch((error) => {
        assert.equal(error, reason);
        rejected += 1;
      }),
    );
  }
  controller.abort(reason);
  await Promise.all(requests);
  await release();
  assert.equal(rejected, count);
}

/** @type {Record<string, Load>} */
const LOADS = {
  exclusive: { title: 'queued for one name, granted in turn', run: queueExclusive },
  shared: { title: 'queued for one name, shared, granted together', run: queueShared },
  names: { title: 'distinct names, held at once', run: holdNames },
  abort: { title: 'queued for one name, aborted by one signal', run: abortQueued },
};

module.exports = { LOADS };
