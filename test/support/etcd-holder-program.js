'use strict';

// A process that holds locks, each with a separate session, until it is killed, or a message ends
// it.

const { openLockManager } = require('../../lib/index.js');

const [url, ...names] = process.argv.slice(2);
process.once('disconnect', () => process.exit()); // its test was killed
process.on('message', () => process.exit());
for (const name of names) {
  openLockManager({ url }).request(name, () => {
    process.send('held');
    return new Promise(() => {});
  });
}
