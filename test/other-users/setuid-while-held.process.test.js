'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync } = require('node:fs');
const { join } = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { openLockManager } = require('../../lib/index.js');
const { removeLocks } = require('../support/broker-process.js');

// A process that becomes another user keeps what it has opened before.

const PROGRAM = join(__dirname, 'setuid-while-held-program.js');
const USER = 65_534;
const isRoot = process.geteuid?.() === 0;
if (!isRoot) console.warn('Skipped: only root can become another user');
const testAsRoot = isRoot ? test : test.skip;

const OF_ANOTHER_USER = expect.stringMatching(/^SecurityError: .* belongs to another user/);

testAsRoot.each([
  ['shm', 'ran'],
  ['broker', OF_ANOTHER_USER], // it needs a further connection
])(
  'setuid() while a lock is held: it stays held, and its lock manager works: %s',
  async (scheme, blocked) => {
    const directory = mkdtempSync('/dev/shm/holdfast-setuid-');
    const url = `${scheme}://${directory}`;
    const child = fork(PROGRAM, [JSON.stringify({ url, user: USER })]);
    await once(child, 'message');
    const locks = openLockManager({ url });
    expect(await locks.request('a', { ifAvailable: true }, (lock) => lock)).toBeNull();
    const waiting = locks.request('a', () => 'granted');
    child.send('continue');
    const [results] = await once(child, 'message');
    expect(results).toEqual({
      requested: 'ran',
      blocked,
      grown: true,
      opened: OF_ANOTHER_USER,
      aborted: false,
    });
    expect(await waiting).toBe('granted');
    locks.close();
    removeLocks(new BrokerFiles('default', directory));
  },
);
