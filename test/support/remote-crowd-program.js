'use strict';

// A process with very many requests for one lock. Under each grant it calls a fenced resource; it
// ends on a message, whatever still waits.

const { openLockManager } = require('../../lib/index.js');
const { ResourceClient } = require('./fenced-resource.js');

const { url, socket, name, requests } = JSON.parse(process.argv[2]);
const locks = openLockManager({ url });
const resource = new ResourceClient(socket);
let next = 0;

async function visit(index, { token, mode }) {
  if (index !== next) throw new Error(`request ${index} is granted in place of ${next}`);
  next += 1;
  const call = { name, mode, id: `${process.pid}:${token}`, token: String(token) };
  await resource.submit('enter', call);
  await resource.submit('leave', call);
  resource.report('end', { id: call.id, isWell: true });
}

process.once('disconnect', () => process.exit()); // its test was killed
process.on('message', () => process.exit());
for (let index = 0; index < requests; index += 1) {
  locks.request(name, (lock) => visit(index, lock));
}
locks.query().then(() => process.send('queued')); // sees what was asked for before
