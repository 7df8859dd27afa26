'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { describeInside } = require('../support/namespaces.js');

// A broker whose file system is full: an accepted request is granted and released.

const WATCHDOG_MS = 600_000;
const PROGRAM = join(__dirname, 'broker-full-program.js');

let directory;
let child;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
});
afterEach(() => {
  child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

describeInside(['unshare', '--mount'], 'on a small tmpfs', () => {
  test.each([10, 3000])(
    '%d requests that wait are all granted, and new ones refused',
    async (n) => {
      const [execPath, ...execArgv] = [
        ...['unshare', '--mount', 'sh', '-c'],
        ...['mount -t tmpfs -o mode=700,size=8m none "$0" && exec "$@"', directory],
        process.execPath,
      ];
      child = fork(PROGRAM, [directory, String(n)], { execPath, execArgv });
      const [answer] = await Promise.race([once(child, 'message'), once(child, 'exit')]);
      expect(answer).toMatchObject({ brokersEnded: 0, isHeldLost: false, isInOrder: true });
      expect(answer.refusals.concat(answer.newcomers)).toContain('QuotaExceededError');
      for (const name of answer.refusals.concat(answer.newcomers)) {
        expect(['granted', 'QuotaExceededError']).toContain(name);
      }
      expect([answer.after, answer.afterDeath]).toEqual(['granted', 'granted']);
    },
    WATCHDOG_MS,
  );
});
