'use strict';

// A process that requests a lock and reports when it is granted, and when it is lost.

const { openLockManager } = require('../../lib/index.js');

const [url, name] = process.argv.slice(2);
const report = (what) => process.send({ what, at: process.hrtime.bigint().toString() });
process.on('disconnect', () => process.exit());
const locks = openLockManager({ url });
const request = locks.request(name, ({ signal }) => {
  signal.addEventListener('abort', () => report('lost'));
  report('granted');
  return new Promise(() => {});
});
request.catch(() => {});
locks.query().then(() => report('entered'));
