'use strict';

// A process that holds locks, each with a session of its own, until it is killed, or told to exit.

const { openLockManager } = require('../../lib/index.js');

const [url, ...names] = process.argv.slice(2);
process.on('message', () => process.exit());
for (const name of names) {
  openLockManager({ url }).request(name, () => {
    process.send('held');
    return new Promise(() => {});
  });
}
