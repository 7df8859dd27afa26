'use strict';

const { execFileSync, spawn } = require('node:child_process');
const { once } = require('node:events');
const { readdirSync } = require('node:fs');
const { createInterface } = require('node:readline');
const { as, describeMembers, STRANGER } = require('./members.js');

/** Threads of the user. */
const ENOUGH = 1000;
const LIBRARY = require.resolve('../../lib/index.js');

/** It opens a manager, whose thread starts at its first use, at a line of its input. */
const PROGRAM = `
  const { openLockManager } = require(${JSON.stringify(LIBRARY)});
  const locks = openLockManager({ url: process.argv[1] });
  const use = () => locks.request('a', { timeout: 20_000 }, () => 'granted');
  process.stdin.on('data', () => use().catch(({ name, message }) => name + ': ' + message)
    .then((said) => console.log(said)));
  console.log('ready');`;

/** @param {() => Promise<any>} startServer  see remote-servers.js */
function describeNoThread(startServer) {
  // The system limits the processes and threads of a user, but not root's.
  describeMembers('the system has no thread left', () => {
    let server;
    let child;
    afterEach(() => child?.kill('SIGKILL'));
    beforeAll(async () => {
      server = await startServer();
    });
    afterAll(() => server.stop());

    test('a request says so, and the next one is granted once there is one', async () => {
      const [command, ...words] = as(STRANGER);
      const program = [process.execPath, '-e', PROGRAM, server.url('no-thread')];
      child = spawn(command, [...words, ...program], { stdio: ['pipe', 'pipe', 'inherit'] });
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const next = async () => (await lines.next()).value;
      // The soft limit alone, by another process of the same user: that needs no capability.
      const limit = (threads) =>
        execFileSync(command, [...words, 'prlimit', `--pid=${child.pid}`, `--nproc=${threads}:`]);
      expect(await next()).toBe('ready');
      limit(readdirSync(`/proc/${child.pid}/task`).length);
      const said = [];
      for (const threads of [undefined, ENOUGH]) {
        if (threads !== undefined) limit(threads);
        child.stdin.write('use\n');
        said.push(await next());
      }
      child.stdin.end();
      expect(said).toEqual([
        expect.stringMatching(/^InvalidStateError: The thread of the session .* cannot be started/),
        'granted',
      ]);
      expect(await once(child, 'exit')).toEqual([0, null]);
    });
  });
}

module.exports = { describeNoThread };
