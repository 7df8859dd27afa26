'use strict';

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const {
  GROUP,
  MEMBERS,
  STRANGER,
  as,
  describeMembers,
  makeShared,
} = require('../support/members.js');
const { PROCESS_BACKENDS } = require('../support/process-backends.js');
const { ProcessBucket } = require('../support/process-bucket.js');

// A shared directory in a folder that all users may write, as /tmp and /dev/shm are: with the
// sticky bit of that folder only the directory's owner may move it, and without it every user.

const LIBRARY = join(__dirname, '../../lib/index.js');
const ROOT = { user: 0, groups: [] };
const STICKY = 0o1777;
const OPEN_TO_ALL = 0o777;
const ROUNDS = 100;

/** A user who tries to move, remove and replace the directory; prints which attempts succeeded. */
const MOVER = `
  const fs = require('node:fs');
  const [, directory, own] = process.argv;
  const attempts = {
    move: () => fs.renameSync(directory, own + '.moved'),
    remove: () => fs.rmdirSync(directory),
    'remove as a file': () => fs.unlinkSync(directory),
    'replace by a directory': () => {
      fs.mkdirSync(own, { recursive: true });
      fs.renameSync(own, directory);
    },
    'replace by a link': () => {
      fs.symlinkSync('/tmp', own + '.link');
      try {
        fs.renameSync(own + '.link', directory);
      } finally {
        fs.unlinkSync(own + '.link');
      }
    },
    'make another one': () => fs.mkdirSync(directory),
    'change the mode': () => fs.chmodSync(directory, 0o2777),
    'change the owner': () => fs.chownSync(directory, process.geteuid(), process.getegid()),
  };
  const succeeded = [];
  let made = 0;
  for (let round = 0; round < ${ROUNDS}; round += 1) {
    for (const [title, act] of Object.entries(attempts)) {
      made += 1;
      try {
        act();
        succeeded.push(title);
      } catch (error) {
        const expected = ['EACCES', 'EPERM', 'EEXIST', 'ENOTEMPTY', 'EISDIR', 'ENOTDIR'];
        if (!expected.includes(error.code)) succeeded.push(title + ': ' + error.message);
      }
    }
  }
  console.log(JSON.stringify({ made, succeeded }));`;

/** Moves the directory away, and makes one of the same name. */
const REPLACER = `
  const fs = require('node:fs');
  const [, directory, moved, group] = process.argv;
  fs.renameSync(directory, moved);
  fs.mkdirSync(directory, { mode: 0o700 });
  if (group !== undefined) fs.chownSync(directory, process.geteuid(), Number(group));
  fs.chmodSync(directory, 0o2770);`;

/** Requests a lock that is held elsewhere; prints whether it is granted here. */
const REQUESTER = `
  const { openLockManager } = require(${JSON.stringify(LIBRARY)});
  const [, scheme, directory] = process.argv;
  const end = (text) => process.stdout.write(text, () => process.exit());
  openLockManager({ url: scheme + '//' + directory, bucket: 'process' })
    .request('x', { ifAvailable: true }, (lock) => (lock ? 'granted' : 'held'))
    .then(end, ({ name, message }) => end(name + ': ' + message));`;

function runAs(user, source, ...args) {
  const [program, ...words] = as(user);
  const all = [...words, process.execPath, '-e', source, ...args];
  const { status, stdout, stderr } = spawnSync(program, all, { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout;
}

describeMembers('a shared directory of root in a folder that all users may write', () => {
  describe.each(Object.keys(PROCESS_BACKENDS))('over %s', (backend) => {
    const scheme = backend === 'broker' ? 'broker:' : 'shm:';
    let parent;
    let directory;
    let bucket;
    let members;
    beforeEach(async () => {
      parent = fs.mkdtempSync(join(tmpdir(), 'holdfast-'));
      fs.chmodSync(parent, STICKY);
      directory = join(parent, 'locks');
      makeShared(directory);
      bucket = new ProcessBucket({ backend }); // of another directory
      members = [];
      for (const member of MEMBERS.slice(0, 2)) {
        members.push(await bucket.open('process', { directory, inside: as(member) }));
      }
    });
    afterEach(async () => {
      await bucket.close();
      PROCESS_BACKENDS[backend].remove(directory); // and its broker, wherever the directory is now
      fs.rmSync(parent, { recursive: true });
    });

    describe('with the sticky bit', () => {
      test.each([
        ['a stranger', STRANGER],
        ['a member', MEMBERS[2]],
      ])('%s can neither move, remove nor replace it', async (_, user) => {
        const { ino, mode, uid, gid } = fs.statSync(directory);
        const [a, b] = members;
        const held = await a.hold('x');
        const next = await b.request('x');
        const { made, succeeded } = JSON.parse(runAs(user, MOVER, directory, join(parent, 'own')));
        expect(succeeded).toEqual([]);
        expect(made).toBe(ROUNDS * 8);
        expect(fs.statSync(directory)).toMatchObject({ ino, mode, uid, gid });
        expect(await held.release('kept')).toEqual({ status: 'fulfilled', value: 'kept' });
        await next.granted;
        await next.release();
        expect(runAs(MEMBERS[2], REQUESTER, scheme, directory)).toBe('granted');
      });
    });

    describe('without it, that a stranger has replaced', () => {
      const moved = () => join(parent, 'moved');
      beforeEach(() => fs.chmodSync(parent, OPEN_TO_ALL));

      test('is refused to newcomers, who get no lock that is held in the moved one', async () => {
        const [a] = members;
        await a.hold('x');
        runAs(STRANGER, REPLACER, directory, moved());
        const ofMember = runAs(MEMBERS[2], REQUESTER, scheme, directory);
        expect(ofMember).toMatch(/^SecurityError: .*(not a|no) member of/);
        expect(runAs(ROOT, REQUESTER, scheme, directory)).toMatch(/^SecurityError: .*chown root/);
        if (backend === 'broker') return;
        expect(runAs(MEMBERS[2], REQUESTER, scheme, moved())).toBe('held');
      });

      test('is refused to newcomers also if it has the group and the mode', async () => {
        const [a] = members;
        await a.hold('x');
        const inGroup = { ...STRANGER, groups: [GROUP] }; // as in a folder with the setgid bit
        runAs(inGroup, REPLACER, directory, moved(), `${GROUP}`);
        const refusal = runAs(MEMBERS[2], REQUESTER, scheme, directory);
        expect(refusal).toMatch(/^SecurityError: .*neither root nor known/);
      });

      if (backend === 'broker') {
        test('takes the locks of running programs from them, with a notice', async () => {
          const [a, b] = members;
          const held = await a.hold('x', {}, { reportsLoss: true });
          runAs(STRANGER, REPLACER, directory, moved());
          const next = await b.request('x');
          expect(await held.lost).toMatchObject({ reason: 'disconnected' });
          expect(await next.settled).toMatchObject({ status: 'rejected' });
        });
        return;
      }

      test('changes nothing for programs that use the moved one already', async () => {
        const [a, b] = members;
        const held = await a.hold('x');
        const next = await b.request('x');
        runAs(STRANGER, REPLACER, directory, moved());
        expect((await b.queryOf('x')).pending).toHaveLength(1);
        expect(await held.release('kept')).toEqual({ status: 'fulfilled', value: 'kept' });
        await next.granted;
        const last = await a.request('x');
        b.endBy('SIGKILL');
        await last.granted;
        await last.release();
      });
    });
  });
});
