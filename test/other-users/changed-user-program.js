'use strict';

// A process that takes a lock as root, or does not, becomes another user, and reports what its next
// lock managers answer, in a worker and on the main thread: at once, and when the first one is
// closed. One JSON argument: the user, the bucket, and whether it takes the lock.

const { once } = require('node:events');
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
  const first = openLockManager({ bucket });
  if (isLocking) await first.acquire('a');
  const worker = new Worker(__filename, { workerData: bucket });
  process.setgroups([]);
  process.setgid(user);
  process.setuid(user);
  const tryBoth = async () => {
    worker.postMessage('ask');
    const [inWorker] = await once(worker, 'message');
    return { inWorker, inMain: await tryLock(bucket) };
  };
  const before = await tryBoth();
  first.close();
  process.send({ before, after: await tryBoth() }, () => process.exit());
}

if (isMainThread) run(JSON.parse(process.argv[2]));
else parentPort.on('message', async () => parentPort.postMessage(await tryLock(workerData)));
