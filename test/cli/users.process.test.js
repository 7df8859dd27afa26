'use strict';

// Root inspects the locks of another user: in a mount namespace with a separate /dev/shm.

const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { describeInside } = require('../support/namespaces.js');
const { setTimeout: pause } = require('node:timers/promises');
const { PROGRAM } = require('../support/cli.js');
const { factsBelow } = require('../support/files-below.js');

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
  // An event for each line of the input.
  process.stdin.on('data', () => {
    require(${JSON.stringify(LIBRARY)}).locks.request('beat', () => {});
  });`;

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

    /** All that there is in the directory of the user. */
    const listing = () => factsBelow(`/proc/${holder.pid}/root/dev/shm/holdfast-${USER}`);

    /** Runs a command until its end; interrupts `watch` and `dashboard` after that output. */
    async function runUntil(expected, args) {
      const [command, ...words] = ['nsenter', `--mount=/proc/${holder.pid}/ns/mnt`];
      const child = spawn(command, [...words, process.execPath, PROGRAM, ...args], { env });
      let output = '';
      let errors = '';
      child.stdout.on('data', (data) => (output += data));
      child.stderr.on('data', (data) => (errors += data));
      const closed = once(child, 'close');
      let isClosed = false;
      closed.then(() => (isClosed = true));
      while (!expected.test(output) && !isClosed) {
        if (args.includes('watch')) holder.stdin.write('beat\n');
        await pause(20);
      }
      if (['watch', 'dashboard'].includes(args[0])) child.kill('SIGINT');
      await closed;
      return { output, errors };
    }

    test.each([
      ['ls', [], /^ledger +held/m],
      ['top', ['--once'], /ledger/],
      ['graph', ['--dot'], /^digraph holdfast/],
      ['doctor', [], /^ok /m],
      ['trace', ['-', '--seconds', '0.1'], /ledger/],
      ['watch', [], /beat/],
      ['dashboard', ['--json'], /"url":/],
    ])(
      'looks into their locks with %s %j, and leaves the directory as it was',
      async (command, args, found) => {
        const before = listing();
        const { output, errors } = await runUntil(found, [command, '--user', `${USER}`, ...args]);
        expect({ output, errors }).toMatchObject({ output: expect.stringMatching(found) });
        expect(listing()).toEqual(before);
      },
    );

    test('all commands with the option are tested here', () => {
      const named = run('--help')
        .stdout.match(/^ {2}(\w+)/gm)
        .map((word) => word.trim());
      const withOption = named.filter((name) =>
        /--user <name> +as root/.test(run(name, '--help').stdout),
      );
      expect(withOption.sort()).toEqual([
        'dashboard',
        'doctor',
        'graph',
        'ls',
        'top',
        'trace',
        'watch',
      ]);
    });

    test('cannot be a user that does not exist, nor change anything as one', () => {
      expect(run('ls', '--user', 'no-such-user')).toMatchObject({
        status: 64,
        stderr: expect.stringMatching(/no-such-user/),
      });
      expect(run('steal', '--user', `${USER}`, 'ledger').stderr).toMatch(/unknown option '--user'/);
    });
  });
});
