'use strict';

// A process that takes a lock as root, or does not, becomes another user, and tells what its next
// lock managers answer, in a worker and on the main thread. One JSON argument: the user, the
// bucket, and whether it takes the lock.

const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const { openLockManager } = require('../../lib/index.js');

/** In the default directory, which belongs to the user that asks. */
async function tryLock(bucket) {
  const locks = openLockManager({ bucket });
  try {
    return await locks.request('a', { ifAvailable: true }, (lock) => lock && 'granted');
  } catch (error) {
    return `${error.name}: ${error.message}`;
  } finally {
    locks.close();
  }
}

async function run({ user, bucket, isLocking }) {
  if (isLocking) await openLockManager({ bucket }).acquire('a');
  process.setgroups([]);
  process.setgid(user);
  process.setuid(user);
  const worker = new Worker(__filename, { workerData: bucket });
  const inWorker = new Promise((resolve) => worker.once('message', resolve));
  const answers = { inWorker: await inWorker, inMain: await tryLock(bucket) };
  process.send(answers, () => process.exit());
}

if (isMainThread) run(JSON.parse(process.argv[2]));
else tryLock(workerData).then((answer) => parentPort.postMessage(answer));
