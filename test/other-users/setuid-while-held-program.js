'use strict';

// A process that takes a lock as root, becomes another user, and uses the same lock manager. One
// JSON argument: the URL and the user.

const { once } = require('node:events');
const { openLockManager } = require('../../lib/index.js');

const MANY = 5000;

async function run({ url, user }) {
  const locks = openLockManager({ url });
  const held = await locks.acquire('a');
  process.setgroups([]);
  process.setgid(user);
  process.setuid(user);
  process.send('held');
  await once(process, 'message');
  const requested = await locks.request('b', () => 'ran');
  const block = async () => locks.requestSync('c', () => 'ran');
  const blocked = await block().catch(({ name, message }) => `${name}: ${message}`);
  const first = await locks.acquire('d');
  const many = Array.from({ length: MANY }, () => locks.request('d', () => 'ran'));
  await first.release();
  const grown = (await Promise.all(many)).every((result) => result === 'ran');
  const openedAnew = openLockManager({ url });
  const opened = await openedAnew
    .request('e', () => 'ran')
    .catch(({ name, message }) => `${name}: ${message}`);
  const { aborted } = held.signal;
  await held.release();
  process.send({ requested, blocked, grown, opened, aborted }, () => process.exit());
}

run(JSON.parse(process.argv[2]));
