'use strict';

// Takes a lock and ends in some way. While it ends, its 'exit' listeners let another process try to
// take the lock. Arguments: the place, how the lock is held, how the program ends.

const { spawnSync } = require('node:child_process');
const { writeSync } = require('node:fs');
const { Worker, isMainThread, workerData } = require('node:worker_threads');

const INDEX = require.resolve('../../lib/index.js');
const NAME = 'kept to the end';
const TRY = `
  const { locks } = require(${JSON.stringify(INDEX)});
  locks.request('${NAME}', { ifAvailable: true }, (lock) => {
    process.stdout.write(lock === null ? 'held' : 'free');
  });
`;

/** @param {string} when */
function listen(when) {
  process.on('exit', () => {
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', TRY], { encoding: 'utf8' });
    writeSync(1, `${when}: ${stdout}${stderr}\n`);
    const { locks } = require(INDEX);
    locks.requestSync(`saved ${when}`, () => writeSync(1, `${when}: saved\n`));
  });
}

const ENDINGS = {
  'process.exit()': () => process.exit(0),
  'an uncaught error': () => {
    throw new Error('expected');
  },
  'an empty event loop': () => {},
};

async function main(how, ending) {
  listen('before the first lock');
  const { locks } = require(INDEX);
  const end = () => {
    listen('inside the lock');
    setImmediate(ENDINGS[ending]);
  };
  if (how === 'handle') {
    globalThis.kept = await locks.acquire(NAME);
    return end();
  }
  if (how === 'callback') {
    return locks.request(NAME, () => {
      end();
      return new Promise(() => {});
    });
  }
  return locks.requestSync(NAME, () => {
    listen('inside the lock');
    ENDINGS[ending]();
  });
}

const [hostKind, how, ending] = isMainThread ? process.argv.slice(2) : workerData;
if (isMainThread && hostKind === 'worker') {
  const worker = new Worker(__filename, { workerData: [hostKind, how, ending] });
  worker.on('error', () => {});
} else void main(how, ending);
