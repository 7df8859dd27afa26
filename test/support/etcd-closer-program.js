'use strict';

// A process that closes its lock manager on a message, and then has nothing more to do.

const { openLockManager } = require('../../lib/index.js');

const locks = openLockManager({ url: process.argv[2] });
process.once('message', () => {
  process.disconnect();
  locks.close();
});
const isLost = () => {};
locks
  .request('a', () => {
    process.send('held');
    return new Promise(() => {});
  })
  .catch(isLost);
