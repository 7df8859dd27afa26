'use strict';

// asker.js <directory> <name>: asks for a lock again and again, for the number of ms in each
// message. Answers with the number of grants and the longest time that one took.

const { openLockManager } = require('../../lib/index.js');
const { CAPACITY } = require('../peers/holdfast.js');
const { now } = require('../harness/section-log.js');

const [directory, name] = process.argv.slice(2);
const locks = openLockManager({ directory, capacity: CAPACITY });
const section = () => {};

async function requestFor(ms) {
  const start = now();
  const end = start + ms * 1e6;
  let count = 0;
  let longest = 0;
  for (let before = start; before < end;) {
    await locks.request(name, section);
    const after = now();
    longest = Math.max(longest, after - before);
    before = after;
    count += 1;
  }
  return { perSecond: (count / (now() - start)) * 1e9, longestMs: longest / 1e6 };
}

process.on('disconnect', () => process.exit());
process.on('message', async (ms) => process.send(await requestFor(ms)));
requestFor(200).then(() => process.send('ready'));
