'use strict';

// A process that holds one lock until it is killed, or told to exit.

const { openLockManager } = require('../../lib/index.js');

const [url, name] = process.argv.slice(2);
process.on('message', () => process.exit());
openLockManager({ url }).request(name, () => {
  process.send('held');
  return new Promise(() => {});
});
