'use strict';

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { GROUP, MEMBERS, as, describeMembers } = require('../support/members.js');
const { describeInside } = require('../support/namespaces.js');
const { PROCESS_BACKENDS } = require('../support/process-backends.js');
const { ProcessBucket } = require('../support/process-bucket.js');
const { withEntries } = require('../support/user-database.js');

// A member who owns the shared directory, as in a team without root, leaves the group: other
// members trust only an owner that the user database has in the group.

const LIBRARY = join(__dirname, '../../lib/index.js');
const [OWNER, OTHER, NEWCOMER] = MEMBERS;
const PASSWD = [`holdfast-owner:x:${OWNER.user}:${OWNER.user}::/:/bin/false`];
const REQUESTER = `
  const { openLockManager } = require(${JSON.stringify(LIBRARY)});
  const [, scheme, directory, bucket] = process.argv;
  const end = (text) => process.stdout.write(text, () => process.exit());
  openLockManager({ url: scheme + '//' + directory, bucket })
    .request('x', { ifAvailable: true }, (lock) => (lock ? 'granted' : 'held'))
    .then(end, ({ name, message }) => end(name + ': ' + message));`;

describeMembers('the owner of a shared directory', () => {
  describeInside(['unshare', '--mount'], 'who leaves its group', () => {
    describe.each(Object.keys(PROCESS_BACKENDS))('over %s', (backend) => {
      const scheme = backend === 'broker' ? 'broker:' : 'shm:';
      let root;
      let directory;
      let words;
      let bucket;
      let owner;
      let other;
      /** As after `usermod -aG` and after `gpasswd -d`: all processes read the same files. */
      const setMembers = (names) => {
        words = withEntries(root, {
          passwd: PASSWD,
          group: [`holdfast-locks:x:${GROUP}:${names}`],
        });
      };
      beforeEach(async () => {
        root = fs.mkdtempSync(join(tmpdir(), 'holdfast-'));
        fs.chmodSync(root, 0o755);
        setMembers('holdfast-owner');
        directory = join(root, 'locks');
        fs.mkdirSync(directory);
        fs.chownSync(directory, OWNER.user, GROUP);
        fs.chmodSync(directory, 0o2770);
        bucket = new ProcessBucket({ backend }); // of another directory: root is refused this one
        owner = await bucket.open('process', { directory, inside: [...words, ...as(OWNER)] });
        other = await bucket.open('process', { directory, inside: [...words, ...as(OTHER)] });
      });
      afterEach(async () => {
        await bucket.close();
        PROCESS_BACKENDS[backend].remove(directory); // and its broker
        fs.rmSync(root, { recursive: true });
      });

      /** The answer to a newcomer. */
      function useAs(user, name = 'process') {
        const [program, ...rest] = [...words, ...as(user), process.execPath, '-e', REQUESTER];
        const args = [...rest, scheme, directory, name];
        const { stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
        expect(stderr).toBe('');
        return stdout;
      }
      const NOT_TRUSTED = /^SecurityError: .*neither root nor known as a member of .*chown root/;

      test('is refused by newcomers from then on, until root owns the directory', async () => {
        const held = await owner.hold('x');
        expect(useAs(NEWCOMER)).toBe('held');
        setMembers('');
        expect(useAs(NEWCOMER)).toMatch(NOT_TRUSTED);
        await held.release();
        fs.chownSync(directory, 0, GROUP);
        fs.chmodSync(directory, 0o2770);
        expect(useAs(NEWCOMER)).toBe('granted');
      });

      test('and the other members keep the locks of their running programs', async () => {
        const held = await owner.hold('x');
        const next = await other.request('x');
        setMembers('');
        expect(await held.release('kept')).toEqual({ status: 'fulfilled', value: 'kept' });
        await next.granted;
        const last = await owner.request('x');
        other.endBy('SIGKILL');
        await last.granted;
        await last.release();
      });

      test('is refused a new table there, without the group', async () => {
        setMembers('');
        const departed = { ...OWNER, groups: [] };
        expect(useAs(departed, 'new')).toMatch(/^SecurityError: /);
        expect(fs.readdirSync(directory).filter((name) => /new|draft/.test(name))).toEqual([]);
      });
    });
  });
});
