'use strict';

const { spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { PROGRAM } = require('../support/cli.js');
const { factsBelow } = require('../support/files-below.js');
const members = require('../support/members.js');
const { describeInside } = require('../support/namespaces.js');
const { withEntries } = require('../support/user-database.js');

// The command line tool over a directory that several users share.

const { GROUP, OTHER_GROUP, STRANGER, as, describeMembers, makeShared } = members;
const [MEMBER, OTHER] = members.MEMBERS;
const ROOT = [];

let root;
let directory;
let env;
const running = new Set();
beforeEach(() => {
  root = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-shared-'));
  fs.chmodSync(root, 0o755);
  directory = path.join(root, 'locks');
  env = { ...process.env, NO_COLOR: '1', HOLDFAST_DIR: directory };
  delete env.HOLDFAST_URL;
  delete env.HOLDFAST_FALLBACK;
});
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  fs.rmSync(root, { recursive: true, force: true });
});

/** Runs the command line tool behind other words. */
function run(words, ...args) {
  const [program, ...rest] = [...words, process.execPath, PROGRAM, ...args];
  const { status, stdout, stderr } = spawnSync(program, rest, { encoding: 'utf8', env });
  return { status, stdout, stderr };
}

/** A program that holds a lock until its input ends. */
async function hold(words, name) {
  const command = [process.execPath, PROGRAM, 'exec', name, '--', 'sh', '-c', 'echo held; cat'];
  const [program, ...rest] = [...words, ...command];
  const child = spawn(program, rest, { env, stdio: ['pipe', 'pipe', 'ignore'] });
  running.add(child);
  child.on('exit', () => running.delete(child));
  await once(child.stdout, 'data');
  return child;
}

const findingsOf = (words, ...args) =>
  run(words, 'doctor', '--json', ...args)
    .stdout.split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
const faultsOf = (words, ...args) =>
  findingsOf(words, ...args).filter(({ level }) => level === 'fault');

describeMembers('in a shared directory', () => {
  beforeEach(() => makeShared(directory));

  test('exec of two users excludes, and the lock of a killed process is free', async () => {
    const holder = await hold(as(MEMBER), 'a lock');
    expect(run(as(OTHER), 'exec', '-n', 'a lock', 'true').status).toBe(1);
    holder.kill('SIGKILL');
    holder.stdin.end(); // its command keeps the lock until then
    await once(holder, 'close');
    expect(run(as(OTHER), 'exec', '-w', '30', 'a lock', 'true').status).toBe(0);
  });

  test('ls, top and wait show and see a holder of another user, with its command', async () => {
    const { pid } = await hold(as(MEMBER), 'a lock');
    const { stdout } = run(as(OTHER), 'ls');
    expect(stdout).toMatch(new RegExp(`^a lock +held +exclusive .* ${pid} .*exec a lock`, 'm'));
    expect(run(as(OTHER), 'ls', '--all').stdout).toMatch(/^bucket default$/m);
    expect(run(as(OTHER), 'top', '--once').stdout).toMatch(/a lock/);
    expect(run(as(OTHER), 'wait', '--timeout', '0.1', 'a lock').status).not.toBe(0);
    expect(run(ROOT, 'ls').stdout).toMatch(/^a lock +held /m);
  });

  test('steal takes a lock from a process of another user', async () => {
    const holder = await hold(as(MEMBER), 'a lock');
    const { status, stdout } = run(as(OTHER), 'steal', '--yes', 'a lock');
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: expect.stringMatching(new RegExp(`^taken from process ${holder.pid},`)),
    });
    await once(holder, 'exit');
  });

  test.each([['ls'], ['top', '--once'], ['exec', 'a lock', 'true'], ['steal', '-y', 'a lock']])(
    '%s is refused to a user who is not a member, with what to do',
    (...args) => {
      run(as(MEMBER), 'exec', 'a lock', 'true');
      expect(run(as(STRANGER), ...args)).toEqual({
        status: 77,
        stdout: '',
        stderr: expect.stringMatching(/not a member.*usermod -aG/),
      });
    },
  );

  test('locks of a broker are seen by another user, and refused to a stranger', async () => {
    env = { ...env, HOLDFAST_URL: `broker://${directory}`, HOLDFAST_BROKER_IDLE_MS: '100' };
    const { pid } = await hold(as(MEMBER), 'a lock');
    expect(run(as(OTHER), 'ls').stdout).toMatch(
      new RegExp(`^a lock +held +exclusive .* ${pid} `, 'm'),
    );
    expect(run(as(STRANGER), 'ls')).toMatchObject({
      status: 77,
      stderr: expect.stringMatching(/is shared with group 64200, and this process is not a member/),
    });
    expect(run(ROOT, 'share', directory, '--group', `${GROUP}`).stdout).toMatch(/: as it was: /);
    expect(run(as(OTHER), 'steal', '--yes', 'a lock').stdout).toMatch(/^taken from process/);
  });

  test('an error names the bucket to a member, and the directory to a stranger', () => {
    run(as(MEMBER), 'exec', 'a lock', 'true');
    fs.chmodSync(path.join(directory, 'default'), 0o700);
    expect(run(ROOT, 'exec', 'a lock', 'true').stderr).toMatch(/: \/\S*\/locks\/default$/m);
    expect(run(as(STRANGER), 'exec', 'a lock', 'true').stderr).toMatch(/: \/\S*\/locks$/m);
  });

  describe('doctor', () => {
    test('finds no fault, and names the group', async () => {
      await hold(as(MEMBER), 'a lock');
      for (const words of [as(OTHER), ROOT]) {
        const { status, stdout } = run(words, 'doctor');
        expect({ status, stdout }).toMatchObject({ status: 0 });
        expect(stdout).toMatch(/^ok {4}\/\S*\/locks is shared with group 64200; its members: /m);
        expect(stdout).toMatch(/^ok {4}the bucket can be opened: 1 names, 1 held, 0 waiting$/m);
      }
    });

    test.each([
      [0o770, /files in it do not get its group \(setgid\)/],
      [0o2775, /others have rights/],
      [0o2777, /has mode 2777.*others have rights/],
      [0o3770, /members may not remove the files of others \(sticky\)/],
      [0o2750, /the group lacks rights/],
      [0o6770, /it has the setuid bit/],
    ])('names the fault of mode %i, and the command that mends it', (mode, why) => {
      fs.chmodSync(directory, mode);
      for (const words of [ROOT, as(MEMBER)]) {
        expect(faultsOf(words)).toMatchObject([
          {
            title: expect.stringMatching(why),
            advice: expect.stringMatching(
              `^as root: holdfast share ${directory} --group ${GROUP}; or`,
            ),
          },
        ]);
      }
      expect(run(ROOT, 'share', directory, '--group', `${GROUP}`).status).toBe(0);
      expect(faultsOf(as(MEMBER))).toEqual([]);
    });

    test('a user who is not a member, and an owner who is not trusted', () => {
      expect(faultsOf(as(STRANGER))).toMatchObject([
        {
          title: `${directory} is for group 64200, and this user (64204) is not a member`,
          advice: 'usermod -aG 64200 64204, then log in again or restart its services',
        },
      ]);
      fs.chownSync(directory, OTHER.user, GROUP);
      fs.chmodSync(directory, 0o2770);
      expect(faultsOf(as(MEMBER))).toMatchObject([
        {
          title: expect.stringMatching(/belongs to user 64202, who is neither root nor known/),
          advice: `chown root ${directory}`,
        },
      ]);
      const ownFindings = findingsOf(as(OTHER)).filter(({ level }) => level === 'warning');
      expect(ownFindings).toContainEqual({
        ...{ level: 'warning', advice: `chown root ${directory}` },
        title: expect.stringMatching(/^other members refuse .* does not have its owner, this user/),
      });
    });

    test('a group that a user namespace does not have', () => {
      const words = [...as(MEMBER), 'unshare', '--user', '--map-root-user'];
      const [program, ...rest] = words;
      if (spawnSync(program, [...rest, 'true']).status !== 0) {
        console.warn('Skipped: user namespaces: not for an ordinary user here');
        return;
      }
      expect(faultsOf(words)).toMatchObject([
        { title: expect.stringMatching(/has no number in this user namespace \(.* 65534\)$/) },
      ]);
    });

    test('a folder above that this user may not search', () => {
      fs.chmodSync(root, 0o700);
      expect(faultsOf(as(MEMBER))).toMatchObject([
        {
          title: `${directory} is not reached: this user (${MEMBER.user}) may not search ${root}`,
          advice: expect.stringMatching(/^chmod o\+x /),
        },
      ]);
    });

    test.each([
      ['the bucket', 'default', (file) => fs.chmodSync(file, 0o700)],
      ['the segment', 'default/segment', (file) => fs.chmodSync(file, 0o600)],
      ['the segment', 'default/segment', (file) => fs.chownSync(file, MEMBER.user, OTHER_GROUP)],
    ])('%s has another group or mode', (_, name, change) => {
      run(as(MEMBER), 'exec', 'a lock', 'true');
      change(path.join(directory, name));
      expect(faultsOf(ROOT)).toMatchObject([
        {
          title: expect.stringMatching(`^${path.join(directory, name)} has group \\d+ and mode`),
          advice: expect.stringMatching(`then: rm -r ${path.join(directory, 'default')}$`),
        },
      ]);
    });

    test('an access control list', () => {
      const addList = `import os, struct, sys
entries = [(1, 7, -1), (2, 7, ${STRANGER.user}), (4, 7, -1), (16, 7, -1), (32, 0, -1)]
packed = b''.join(struct.pack('<HHi', *entry) for entry in entries)
os.setxattr(sys.argv[1], 'system.posix_acl_access', struct.pack('<I', 2) + packed)`;
      const { status, stderr } = spawnSync('python3', ['-c', addList, directory]);
      if (status !== 0) {
        console.warn(`Skipped: access control lists: ${stderr}`);
        return;
      }
      expect(faultsOf(as(MEMBER))).toMatchObject([
        {
          title: expect.stringMatching(/has an access control list/),
          advice: `setfacl -b ${directory}`,
        },
      ]);
    });

    describe('--pid', () => {
      test('a process of another member is no fault, by root and by a member', async () => {
        const { pid } = await hold(as(MEMBER), 'a lock');
        const findings = findingsOf(ROOT, '--pid', `${pid}`);
        expect(findings.filter(({ level }) => level === 'fault')).toEqual([]);
        const titles = findings.map(({ title }) => title);
        expect(titles).toContain(`process ${pid} sees the same lock table, and uses it now`);
        expect(titles).toContainEqual(
          expect.stringMatching(/is of user 64201, .* both may use the directory of group 64200$/),
        );
        expect(faultsOf(as(OTHER), '--pid', `${pid}`)).toEqual([]);
      });

      test('a process that is not in the group is a fault', async () => {
        const [program, ...words] = as(STRANGER);
        const child = spawn(program, [...words, 'sh', '-c', 'echo; exec sleep 1000'], { env });
        running.add(child);
        await once(child.stdout, 'data');
        expect(faultsOf(ROOT, '--pid', `${child.pid}`)).toMatchObject([
          {
            title: expect.stringMatching(/process \d+ is not in group 64200$/),
            advice: 'usermod -aG 64200 64204, then restart it',
          },
        ]);
        child.kill('SIGKILL');
      });
    });
  });
});

describeInside(['unshare', '--mount'], 'with entries in the user database', () => {
  let words;
  beforeEach(() => {
    makeShared(directory);
    words = withEntries(root, {
      passwd: [`holdfast-web:x:${MEMBER.user}:${MEMBER.user}::/:/bin/false`],
      group: [`holdfast-locks:x:${GROUP}:holdfast-web`],
    });
  });

  test('doctor reports a process that was started before its user became a member', () => {
    expect(faultsOf([...words, ...as({ ...MEMBER, groups: [] })])).toMatchObject([
      {
        title: expect.stringMatching(
          /\(64200\): this process was started before its user became a/,
        ),
        advice: 'log in again, or restart the service',
      },
    ]);
    expect(run([...words, ...as(MEMBER)], 'doctor').stdout).toMatch(
      / is shared with group holdfast-locks \(64200\); its members: holdfast-web$/m,
    );
  });

  test('root sees a shared directory with --user, by the groups of that user', async () => {
    await hold(as(OTHER), 'a lock');
    const asUser = (...args) => run(words, 'ls', '--user', ...args);
    expect(asUser('holdfast-web').stdout).toMatch(/^a lock +held /m);
    expect(asUser(`${MEMBER.user}`).stdout).toMatch(/^a lock +held /m);
    expect(asUser(`${OTHER.user}`)).toMatchObject({ status: 77 }); // has no entry, so no groups
  });

  test.each([
    ['ls'],
    ['top', '--once'],
    ['graph', '--dot'],
    ['doctor'],
    ['trace', '-', '--seconds', '0.1'],
  ])('root leaves it as it was by %s with --user', async (command, ...args) => {
    await hold(as(OTHER), 'a lock');
    const before = factsBelow(directory);
    const answer = run(words, command, '--user', 'holdfast-web', ...args);
    expect(answer).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/a lock|1 held|graph/),
    });
    expect(factsBelow(directory)).toEqual(before);
  });
});

describeInside(['unshare', '--mount'], 'a volume in memory', () => {
  /**
   * Two users in two containers that have the volume at one path: the exit statuses of the second
   * one while the first one holds the lock, and afterwards.
   */
  function useInContainers(options, prepare, at) {
    const quoted = (words) => words.map((word) => `'${word}'`).join(' ');
    const use = (user) =>
      `unshare --pid --fork --ipc ${quoted(as(user))} ` + `"$0" "$1" exec --directory ${at} -w 30 `;
    const untilDone = 'echo held; while [ ! -e "$0/done" ]; do sleep 0.05; done';
    const script = `
      mount -t tmpfs -o ${options} none "$2" && ${prepare}
      ${use(MEMBER)} 'a lock' sh -c '${untilDone}' "$2" | {
        read -r line
        ${use(OTHER)} -n 'a lock' true; echo "$line, $?"
        touch "$2/done"
        ${use(OTHER)} 'a lock' true; echo "$?"
      }`;
    const words = ['--mount', 'sh', '-c', script, process.execPath, PROGRAM, root];
    const { stdout, stderr } = spawnSync('unshare', words, { encoding: 'utf8', env });
    return { stdout, stderr };
  }

  test('of Docker, with the options of the page, is a shared directory', () => {
    const answer = useInContainers(`uid=0,gid=${GROUP},mode=2770`, ':', root);
    expect(answer).toEqual({ stdout: 'held, 1\n0\n', stderr: '' });
  });

  test('of Kubernetes with fsGroup is open to others, and root shares a directory below it', () => {
    const options = `uid=0,gid=${GROUP},mode=2777`;
    const share = `"$0" "$1" share "$2/locks" --group ${GROUP} >/dev/null`;
    const answer = useInContainers(options, share, directory);
    expect(answer).toEqual({ stdout: 'held, 1\n0\n', stderr: '' });
    expect(useInContainers(options, ':', root).stderr).toMatch(/holdfast share/);
  });
});

describeInside(['unshare', '--mount'], 'root', () => {
  const INSIDE = [
    ...['unshare', '--mount', 'sh', '-c'],
    'mount -t tmpfs none /run && mount -t tmpfs -o mode=1777 none /dev/shm && exec "$0" "$@"',
  ];

  test("is warned that systemd removes users' files from a directory in /dev/shm", () => {
    delete env.HOLDFAST_DIR;
    const script = `mkdir -p /run/systemd/system
      for d in /dev/shm/tables /run/tables; do
        for command in "share $d --group ${GROUP}" "doctor --directory $d"; do
          echo "$command"; "$0" "$1" $command --json | grep -c 'systemd removes what'
        done
      done`;
    const words = [...INSIDE.slice(1), 'sh', '-c', script, process.execPath, PROGRAM];
    const { stdout } = spawnSync(INSIDE[0], words, { encoding: 'utf8', env });
    expect(stdout.match(/^\d$/gm)).toEqual(['1', '1', '0', '0']);
  });

  test('gets the shared directories of /run and /dev/shm named, and nothing is made', () => {
    delete env.HOLDFAST_DIR;
    const script = `
      for d in /run/tables /dev/shm/others /run/empty; do
        mkdir $d; chown 0:${GROUP} $d; chmod 2770 $d
      done
      mkdir -m 755 /run/private
      for d in /run/tables /dev/shm/others /run/private/mine; do
        "$0" "$1" exec --directory $d a true
      done
      for command in ls doctor 'top --once'; do "$0" "$1" $command; done 2>&1
      ls /dev/shm; ls /run --ignore=mount`;
    const { stdout } = spawnSync(
      INSIDE[0],
      [...INSIDE.slice(1), 'sh', '-c', script, process.execPath, PROGRAM],
      { encoding: 'utf8', env },
    );
    const named =
      'groups of users share lock tables: see them with ' +
      '--directory /dev/shm/others, --directory /run/tables';
    expect(stdout.split(named)).toHaveLength(4);
    expect(stdout).toMatch(/^others\nempty\nprivate\ntables\n$/m);
  });
});
