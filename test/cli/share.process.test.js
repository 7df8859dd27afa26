'use strict';

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { PROGRAM } = require('../support/cli.js');
const {
  GROUP,
  MEMBERS,
  OTHER_GROUP,
  STRANGER,
  as,
  describeMembers,
} = require('../support/members.js');
const { describeInside } = require('../support/namespaces.js');
const { withEntries } = require('../support/user-database.js');

// `holdfast share` makes a directory for the members of a group, by root and by a member.

const [MEMBER, OTHER] = MEMBERS;
const CLEAN = { ...process.env, NO_COLOR: '1' };
for (const name of ['HOLDFAST_DIR', 'HOLDFAST_URL', 'HOLDFAST_FALLBACK']) delete CLEAN[name];

let root;
let directory;
beforeEach(() => {
  root = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-share-'));
  fs.chmodSync(root, 0o755);
  directory = path.join(root, 'locks');
});
afterEach(() => fs.rmSync(root, { recursive: true, force: true }));

/** Runs the command line tool behind other words. */
function run(args, words = []) {
  const [program, ...rest] = [...words, process.execPath, PROGRAM, ...args];
  const { status, stdout, stderr } = spawnSync(program, rest, { encoding: 'utf8', env: CLEAN });
  return { status, stdout, stderr };
}

const share = (args, words) => run(['share', directory, '--group', `${GROUP}`, ...args], words);
const shareAsJson = (args, words) => JSON.parse(share([...args, '--json'], words).stdout);

/** The rights of a directory, as a listing shows them. */
function rightsOf(file) {
  const { uid, gid, mode } = fs.lstatSync(file);
  return { uid, gid, mode: (mode & 0o7777).toString(8) };
}

const SHARED = { uid: 0, gid: GROUP, mode: '2770' };

/** Uses a lock in the directory. */
const use = (words) => run(['exec', '--directory', directory, 'a lock', 'true'], words).status;

describeMembers('holdfast share, by root,', () => {
  test('makes a directory that two users share', () => {
    const { status, stdout } = share([]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^ok {4}.*\/locks: made: owner root, group 64200, mode 2770$/m);
    expect(stdout).toMatch(/^ {2}HOLDFAST_DIR=.*\/locks$/m);
    expect(stdout).toMatch(/^ {2}SupplementaryGroups=64200$/m);
    expect(rightsOf(directory)).toEqual(SHARED);
    expect([use(as(MEMBER)), use(as(OTHER))]).toEqual([0, 0]);
  });

  test('the umask of root does not matter', () => {
    share([], ['sh', '-c', 'umask 0077 && exec "$0" "$@"']);
    expect(rightsOf(directory)).toEqual(SHARED);
  });

  test('changes nothing when it runs again, also beside tables in use', () => {
    share([]);
    use(as(MEMBER));
    expect(shareAsJson([])).toMatchObject({ isMade: false, changed: [] });
    expect(share([]).stdout).toMatch(/^ok .*: as it was: /m);
    expect(use(as(OTHER))).toBe(0);
  });

  test('changes owner, group and mode of an empty directory, and says what they were', () => {
    fs.mkdirSync(directory);
    fs.chownSync(directory, MEMBER.user, OTHER_GROUP);
    fs.chmodSync(directory, 0o3777);
    expect(shareAsJson([])).toMatchObject({
      isMade: false,
      changed: [`owner ${MEMBER.user}`, `group ${OTHER_GROUP}`, 'mode 3777'],
    });
    expect(rightsOf(directory)).toEqual(SHARED);
  });

  /** Refused, and left as it was. */
  function expectRefusal(reason, status = 69) {
    const before = rightsOf(directory);
    const answer = share([]);
    expect(answer).toMatchObject({ status, stdout: '', stderr: expect.stringMatching(reason) });
    expect(rightsOf(directory)).toEqual(before);
  }

  test('refuses the default directory of a user, which is never shared', () => {
    const own = `/dev/shm/holdfast-${64_000 + (process.pid % 1000)}`; // a user that is not in use
    const { status, stderr } = run(['share', own, '--group', `${GROUP}`]);
    expect([status, stderr]).toEqual([69, expect.stringMatching(/default directory of one user/)]);
    expect(fs.existsSync(own)).toBe(false);
  });

  test('refuses a directory with private tables, and says what to do', () => {
    fs.mkdirSync(directory, { mode: 0o700 });
    use();
    expectRefusal(
      /lock tables that are not shared with group 64200: end .* rm -r \/\S*\/default$/m,
    );
    expect(use()).toBe(0);
  });

  test('refuses a directory whose tables are of another group', () => {
    run(['share', directory, '--group', `${OTHER_GROUP}`]);
    use(as({ ...MEMBER, groups: [OTHER_GROUP] }));
    expectRefusal(/lock tables that are not shared with group 64200/);
  });

  test('refuses a table that a stranger made before, in a directory that was open to all', () => {
    fs.mkdirSync(directory);
    fs.chownSync(directory, 0, GROUP);
    fs.chmodSync(directory, 0o2777);
    const words = as({ user: STRANGER.user, umask: '0007', groups: [] });
    const table = path.join(directory, 'default');
    spawnSync(words[0], [...words.slice(1), 'mkdir', table]);
    expect(rightsOf(table)).toEqual({ uid: STRANGER.user, gid: GROUP, mode: '2770' });
    expectRefusal(/lock tables that are not shared with group 64200/);
  });

  test('refuses a directory with other things in it, and a file, a link, a missing parent', () => {
    fs.mkdirSync(directory);
    fs.writeFileSync(path.join(directory, 'data'), '');
    expectRefusal(/has other things in it \(data\): name a directory for locks alone/);
    fs.rmSync(directory, { recursive: true });
    fs.writeFileSync(directory, '');
    expectRefusal(/is no directory/);
    fs.unlinkSync(directory);
    fs.mkdirSync(path.join(root, 'target'));
    fs.symlinkSync('target', directory);
    expectRefusal(/is a symbolic link: name its target/);
    expect(rightsOf(path.join(root, 'target')).gid).not.toBe(GROUP);
    directory = path.join(root, 'missing', 'locks');
    expect(share([])).toMatchObject({
      status: 69,
      stderr: expect.stringMatching(/does not exist/),
    });
  });

  test('warns of a place in which all users can replace the directory', () => {
    fs.chmodSync(root, 0o777);
    const warnings = () => shareAsJson([]).findings.filter(({ level }) => level === 'warning');
    expect(warnings()).toMatchObject([
      {
        title: expect.stringMatching(/^all users may remove the directory: .* has mode 777$/),
        advice: expect.stringMatching(/^chmod o-w /),
      },
    ]);
    fs.chmodSync(root, 0o1777);
    expect(warnings()).toEqual([]);
  });

  test('refuses an access control list, also one from the directory above', () => {
    const addList = `import os, struct, sys
entries = [(1, 7, -1), (2, 7, ${OTHER.user}), (4, 7, -1), (16, 7, -1), (32, 0, -1)]
packed = b''.join(struct.pack('<HHi', *entry) for entry in entries)
os.setxattr(sys.argv[1], 'system.posix_acl_default', struct.pack('<I', 2) + packed)`;
    const { stderr, status } = spawnSync('python3', ['-c', addList, root], { encoding: 'utf8' });
    if (status !== 0) {
      console.warn(`Skipped: access control lists: ${stderr.trim()}`);
      return;
    }
    expect(share([])).toMatchObject({
      status: 69,
      stderr: expect.stringMatching(/access control list, .* setfacl -b \/\S*\/locks, then run/),
    });
  });

  test('refuses a group that is not there, or stands for none', () => {
    expect(run(['share', directory, '--group', 'no-such'])).toMatchObject({
      status: 64,
      stderr: expect.stringMatching(/no group 'no-such' \(groupadd --system no-such\)/),
    });
    expect(run(['share', directory, '--group', '65534']).status).toBe(69);
    expect(run(['share', directory]).status).toBe(64);
    expect(fs.existsSync(directory)).toBe(false);
  });

  test('a user without an entry gets the way to start a program with the group', () => {
    const { status, stdout } = share(['--user', `${MEMBER.user}`]);
    expect(status).toBe(1);
    expect(stdout).toMatch(/^FAIL {2}the user database has no user '64201'\n.*--group-add 64200/m);
    expect(rightsOf(directory)).toEqual(SHARED);
  });
});

describeMembers('holdfast share, by another user,', () => {
  test('is refused to a member without an entry in the user database, and makes nothing', () => {
    fs.chownSync(root, MEMBER.user, MEMBER.user);
    expect(share([], as(MEMBER))).toMatchObject({
      status: 77,
      stderr: expect.stringMatching(/other members would refuse the directory.*run this as root/),
    });
    expect(fs.existsSync(directory)).toBe(false);
  });

  test('is refused to a user who is not a member, and for a directory of another one', () => {
    expect(share([], as({ ...MEMBER, groups: [] }))).toMatchObject({ status: 77 });
    share([]);
    expect(share([], as(MEMBER))).toMatchObject({
      status: 77,
      stderr: expect.stringMatching(/belongs to user root: run this as that user, or as root/),
    });
  });
});

describeInside(['unshare', '--mount'], 'with entries in the user database', () => {
  const entries = {
    passwd: [
      `holdfast-web:x:${MEMBER.user}:${MEMBER.user}::/:/bin/false`,
      `holdfast-job:x:${OTHER.user}:${GROUP}::/:/bin/false`,
      `holdfast-else:x:64207:64207::/:/bin/false`,
    ],
    group: [`holdfast-locks:x:${GROUP}:holdfast-web`],
  };
  let words;
  beforeEach(() => {
    words = withEntries(root, entries);
  });
  const shareByName = (...args) =>
    run(['share', directory, '--group', 'holdfast-locks', ...args], words);

  test('says of each user whether it is a member and reaches the directory', () => {
    const names = ['holdfast-web', 'holdfast-job', `${MEMBER.user}`, 'root'];
    const users = names.flatMap((name) => ['--user', name]);
    const { status, stdout } = shareByName(...users);
    expect({ status, stdout }).toMatchObject({ status: 0 });
    expect(stdout).toMatch(
      /members of group holdfast-locks \(64200\): holdfast-web, holdfast-job$/m,
    );
    const { users: found } = JSON.parse(shareByName('--json', '--user', 'holdfast-else').stdout);
    expect(found).toMatchObject([{ user: 'holdfast-else', isMember: false, canReach: true }]);
    const other = shareByName('--user', 'holdfast-web', '--user', 'holdfast-else');
    expect(other.status).toBe(1);
    expect(other.stdout).toMatch(
      /^FAIL {2}user holdfast-else is not .*\n.*usermod -aG holdfast-locks holdfast-else; then/m,
    );
  });

  test('the folder that keeps a user out is named, with the command that opens it', () => {
    const inner = path.join(root, 'inner');
    fs.mkdirSync(inner, { mode: 0o700 });
    directory = path.join(inner, 'locks');
    const { status, stdout } = shareByName('--user', 'holdfast-web');
    expect(status).toBe(1);
    expect(stdout).toMatch(
      /^FAIL .*does not reach .*: it may not search .*\/inner\n.* chmod o\+x /m,
    );
    fs.chmodSync(inner, 0o711);
    expect(shareByName('--user', 'holdfast-web').status).toBe(0);
  });

  test('a member makes one for the others', () => {
    fs.chownSync(root, MEMBER.user, MEMBER.user);
    const asMember = [...words, ...as(MEMBER)];
    expect(shareAsJson([], asMember)).toMatchObject({ isMade: true, owner: MEMBER.user });
    expect(rightsOf(directory)).toEqual({ ...SHARED, uid: MEMBER.user });
    expect(use(asMember)).toBe(0);
    expect(use([...words, ...as(OTHER)])).toBe(0);
    expect(use(as(OTHER))).not.toBe(0); // where the owner is not known as a member
  });

  test('root gets the shared directory of a member, with its tables', () => {
    const asMember = [...words, ...as(MEMBER)];
    fs.chownSync(root, MEMBER.user, MEMBER.user);
    shareAsJson([], asMember);
    use(asMember);
    expect(shareAsJson([], words)).toMatchObject({ changed: ['owner holdfast-web'] });
    expect(use(as(OTHER))).toBe(0);
  });

  test('one in memory comes with the line that makes it again at boot', () => {
    const inMemory = [
      ...words.slice(0, -1),
      words.at(-1).replace('exec', `mount -t tmpfs -o mode=755 none "${root}" && exec`),
    ];
    const { stdout } = run(['share', directory, '--group', 'holdfast-locks'], inMemory);
    expect(stdout).toMatch(/ in \/etc\/tmpfiles\.d\/holdfast\.conf makes it again:$/m);
    expect(stdout).toMatch(new RegExp(`^  d ${directory} 2770 root holdfast-locks - -$`, 'm'));
    const { tmpfiles } = shareAsJson([]);
    expect(tmpfiles).toEqual(fs.statfsSync(root).type === 0x0102_1994 ? expect.anything() : null);
  });
});
