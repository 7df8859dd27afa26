'use strict';

// Blocks its thread while the helper thread does not start, or ends when it is asked: see
// dead-helper-preload.js. Reports the outcome. argv: the directory of locks.

const { once } = require('node:events');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { SyncHelper } = require('../../lib/backends/broker/sync-helper.js');
const { openLockManager } = require('../../lib/index.js');
const { awaitThreadOf } = require('../support/thread-end.js');

const MAX_START_MS = 200;

const directory = process.argv[2];
const failing = process.env.HOLDFAST_TEST_HELPER;

function errorOf(action) {
  try {
    return action();
  } catch ({ name, message }) {
    return { name, message };
  }
}

function waitForStart() {
  // A thread that was ended by force would not say why.
  const helper = awaitThreadOf(
    () => new SyncHelper({ directory, bucket: 'default' }, MAX_START_MS),
  );
  const request = { what: 'isLocked', argument: ['a', 1] };
  const failedCall = () => errorOf(() => helper.call(request, true, Infinity, () => ({})));
  return [failedCall(), failedCall()];
}

async function requestSync() {
  const locks = openLockManager({ backend: new BrokerBackend({ directory }) });
  await locks.query();
  const errors = [errorOf(() => locks.requestSync('a', () => 'ran'))];
  const { held, pending } = await locks.query();
  process.env.HOLDFAST_TEST_HELPER = 'nothing'; // for the next one
  const next = errorOf(() => locks.requestSync('a', () => 'ran'));
  locks.close();
  return [...errors, [held, pending], next];
}

async function requestFreeLock() {
  const locks = openLockManager({ backend: new BrokerBackend({ directory }) });
  await locks.query();
  const error = errorOf(() => locks.requestSync('a', { timeout: 0 }, () => 'ran'));
  locks.close();
  process.stdout.write(JSON.stringify(error));
}

async function main() {
  const warned = once(process, 'warning');
  const alive = setInterval(() => {}, 1000);
  const outcome = await (failing === 'starts not' ? waitForStart() : requestSync());
  const [{ code, message }] = await warned;
  clearInterval(alive);
  process.stdout.write(JSON.stringify({ outcome, warning: { code, message } }));
}

if (failing === 'starts late') requestFreeLock();
else main();
