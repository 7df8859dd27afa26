'use strict';

// Takes the lock `a`, or waits for it, and reports the outcome; releases it on a message. argv: the
// directory of locks.

const { openLockManager } = require('../../lib/index.js');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');

const locks = openLockManager({ backend: new BrokerBackend({ directory: process.argv[2] }) });

locks
  .request('a', (lock) => {
    process.send({ token: String(lock.token) });
    return new Promise((resolve) => process.once('message', () => resolve('released')));
  })
  .then(
    (value) => ({ value }),
    ({ name, message }) => ({ error: { name, message } }),
  )
  .then((end) => {
    process.send(end);
    process.disconnect();
    locks.close();
  });
