'use strict';

// Root inspects the locks of another user: in a mount namespace with a separate /dev/shm.

const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { describeInside } = require('../support/namespaces.js');
const { PROGRAM } = require('../support/cli.js');

const LIBRARY = path.resolve(__dirname, '../../lib/index.js');
const USER = 64_123; // not in use
const INSIDE = [
  ...['unshare', '--mount', 'sh', '-c'],
  // With a file that has the name of the directory of a user.
  'mount -t tmpfs -o mode=1777 none /dev/shm && touch /dev/shm/holdfast-1 && exec "$0" "$@"',
];
const HOLDER = `
  process.setgroups([]);
  process.setgid(${USER});
  process.setuid(${USER});
  require(${JSON.stringify(LIBRARY)}).locks.request('ledger', () => {
    console.log('held');
    return new Promise(() => {});
  });
  process.stdin.resume();`;

const clean = { ...process.env, NO_COLOR: '1' };
for (const name of ['HOLDFAST_DIR', 'HOLDFAST_URL', 'HOLDFAST_FALLBACK']) delete clean[name];

describe.each([
  ['shared memory', {}],
  ['a broker', { HOLDFAST_URL: 'broker:', HOLDFAST_BROKER_IDLE_MS: '100' }],
])('locks in %s', (_where, settings) => {
  describeInside(INSIDE, 'root', () => {
    const env = { ...clean, ...settings };
    let holder;
    beforeAll(async () => {
      const [command, ...args] = [...INSIDE, process.execPath, '-e', HOLDER];
      holder = spawn(command, args, { env, stdio: 'pipe' });
      await once(holder.stdout, 'data');
    });
    afterAll(async () => {
      holder.kill('SIGKILL');
      await once(holder, 'exit');
    });

    const run = (...args) =>
      spawnSync(
        'nsenter',
        [`--mount=/proc/${holder.pid}/ns/mnt`, process.execPath, PROGRAM, ...args],
        {
          ...{ env, encoding: 'utf8' },
        },
      );

    test('ls and doctor name the users that have tables, and the option to see them', () => {
      expect(run('ls').stderr).toMatch(new RegExp(`other users have lock tables.*--user ${USER}`));
      expect(run('doctor').stdout).toMatch(new RegExp(`note .*--user ${USER}`));
    });

    test.each([[['ls', '--user', `${USER}`]], [['--user', `${USER}`, 'ls']]])(
      'sees their locks with %j',
      (args) => {
        const { stdout, stderr, status } = run(...args);
        expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
        expect(stdout).toMatch(/^ledger +held +exclusive/m);
      },
    );

    test('cannot be a user that does not exist, nor change anything as one', () => {
      expect(run('ls', '--user', 'no-such-user')).toMatchObject({
        status: 64,
        stderr: expect.stringMatching(/no-such-user/),
      });
      expect(run('steal', '--user', `${USER}`, 'ledger').stderr).toMatch(/unknown option '--user'/);
    });
  });
});
