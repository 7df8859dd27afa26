'use strict';

// Asks for a lock while the thread of its session does not start, or ends when it is asked: see
// dead-session-preload.js. Reports the outcome, and the warnings.

const { SessionLink } = require('../../lib/backends/remote/session-link.js');
const { openEtcdBackend } = require('../../lib/backends/etcd/backend.js');
const { openLockManager } = require('../../lib/index.js');
const { awaitThreadOf } = require('../support/thread-end.js');

const MAX_START_MS = 1_000;
/** A port without a listener. */
const NOWHERE = 'etcd://127.0.0.1:9';

const [, , way] = process.argv;

const about = ({ name, message }) => ({ name, message });

/** The error in a thread that is blocked for ever, about a thread that does not start. */
function waitForStart() {
  let outcome;
  const onMessage = ({ error }) => (outcome = about(error));
  // A thread that was ended by force would not say why.
  const link = awaitThreadOf(() => new SessionLink({ engine: 'etcd' }, onMessage, MAX_START_MS));
  link.block(Infinity, () => false);
  return outcome;
}

function requestSync(locks) {
  try {
    return locks.requestSync('a', () => 'ran');
  } catch (error) {
    return about(error);
  }
}

async function makeRequest() {
  if (process.env.HOLDFAST_TEST_SESSION === 'starts not') return [waitForStart()];
  const locks = openLockManager({ backend: openEtcdBackend(NOWHERE) });
  const outcome =
    way === 'blocked' ? requestSync(locks) : await locks.request('a', () => 'ran').catch(about);
  return [outcome, requestSync(locks)];
}

async function main() {
  const warnings = [];
  const warned = new Promise((resolve) => {
    process.on('warning', ({ code, message }) => resolve(warnings.push({ code, message })));
  });
  const alive = setInterval(() => {}, 1000);
  const outcome = await makeRequest();
  if (process.env.HOLDFAST_TEST_SESSION !== 'exits') await warned;
  clearInterval(alive);
  process.stdout.write(JSON.stringify({ outcome, warnings }));
}

main();
