'use strict';

const { execFileSync, fork, spawn } = require('node:child_process');
const { randomUUID } = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles, removeBrokerSockets } = require('../../lib/backends/broker/broker-files.js');
const { listLifelines, removeLifeline } = require('../../lib/backends/broker/lifeline.js');
const { platformOf } = require('../../lib/backends/broker/platform.js');
const { openLockManager } = require('../../lib/index.js');
const { killBroker, removeLocks } = require('../support/broker-process.js');
const { BrokerStress } = require('../support/broker-stress.js');
const { Intruder } = require('../support/intruder.js');
const { lengthOf } = require('../support/lengths.js');
const {
  as,
  describeMembers,
  GROUP,
  makeShared,
  MEMBERS,
  OTHER_GROUP,
  STRANGER,
} = require('../support/members.js');
const { ProcessBucket } = require('../support/process-bucket.js');

// A directory of buckets that is shared with a group, over the broker: its members share the locks,
// whatever their umasks, and no other user gets to them.

const LIBRARY = path.join(__dirname, '../../lib');
const FILES = path.join(LIBRARY, 'backends/broker/broker-files.js');
const STRANGER_PROGRAM = path.join(__dirname, '../broker/broker-strangers-program.js');
const FOREIGN = 10_009;
/** A user, and its group, in each user database. */
const DAEMON = 1;
const UNKNOWN_GROUP = 65_534;

const modeOf = ({ mode }) => (mode & 0o7777).toString(8);

/** All that there is in a directory. */
function listAll(directory) {
  return fs.readdirSync(directory, { recursive: true, withFileTypes: true }).map((entry) => ({
    entry,
    file: path.relative(directory, path.join(entry.parentPath, entry.name)),
  }));
}

describeMembers('three members of a group', () => {
  let bucket;
  let files;
  let members;
  beforeEach(async () => {
    bucket = new ProcessBucket({ backend: 'broker', prepare: makeShared });
    files = new BrokerFiles('process', bucket.directory);
    files.ensure();
    members = [];
    // One after the other: the first one starts the broker.
    for (const member of MEMBERS) {
      members.push(await bucket.open('process', { inside: as(member) }));
    }
  });
  afterEach(() => bucket.close());

  const userOfBroker = () => fs.statSync(`/proc/${files.readEpoch(files.highestEpoch()).pid}`).uid;

  test('exclude each other, in the order of their requests', async () => {
    const [a, b, c] = members;
    let held = await a.hold('x');
    let { token } = await held.granted;
    const order = [b, c, a, c, b];
    const requests = [];
    for (const member of order) requests.push(await member.request('x'));
    for (const [i, request] of requests.entries()) {
      expect((await bucket.locks.query()).pending).toHaveLength(order.length - i);
      await held.release();
      held = request;
      const next = (await held.granted).token;
      expect(next).toBeGreaterThan(token);
      token = next;
    }
    await held.release();
  });

  test('find the mode and group of the directory in all that is made there', async () => {
    const [a, b, c] = members;
    await a.hold('x');
    for (const member of [b, c]) await member.isLocked('x'); // with a helper thread
    expect(userOfBroker()).toBe(MEMBERS[0].user);
    const all = listAll(bucket.directory);
    for (const kind of [
      /broker\.1$/,
      /journal\.1$/,
      /log$/,
      /claims.s\w{16}$/,
      /lifelines.s\w{16}$/,
    ]) {
      expect(all.map(({ file }) => file)).toContainEqual(expect.stringMatching(kind));
    }
    for (const { entry, file } of all) {
      const stat = fs.statSync(path.join(bucket.directory, file));
      expect([file, stat.gid, modeOf(stat)]).toEqual([
        file,
        GROUP,
        entry.isDirectory() ? '2770' : '660',
      ]);
    }
  });

  test("start the next broker after another member's, and lose no lock", async () => {
    const [a, b, c] = members;
    const held = await a.hold('x');
    const before = await held.granted;
    const waiting = [await c.request('x'), await b.request('x')];
    for (const index of [1, 2]) {
      expect(userOfBroker()).toBe(MEMBERS[index - 1].user);
      const others = members.filter((_, i) => i !== index);
      for (const other of others) await other.freeze();
      const number = files.highestEpoch();
      killBroker(files);
      expect(await members[index].isLocked('x')).toBe(true); // of a stopped process, or kept
      expect(files.highestEpoch()).toBe(number + 1);
      expect(userOfBroker()).toBe(MEMBERS[index].user);
      for (const other of others) other.thaw();
    }
    expect(await held.release('kept')).toEqual({ status: 'fulfilled', value: 'kept' });
    const tokens = [before.token];
    for (const request of waiting) {
      tokens.push((await request.granted).token);
      await request.release();
    }
    expect(tokens).toEqual([...tokens].sort((x, y) => (x < y ? -1 : 1)));
    await bucket.isClean({ processes: 3 });
  });

  test('get the lock of another member that is killed, and remove its lifeline', async () => {
    const [a, b, c] = members;
    await a.hold('x');
    const next = await b.request('x');
    a.endBy('SIGKILL');
    await next.granted;
    await next.release();
    await a.ended;
    await bucket.isClean({ processes: 2 });
    await c.hold('y');
  });

  test('get the lock of a member that is killed together with its broker', async () => {
    const [a, b] = members;
    await a.hold('x');
    const next = await b.request('x');
    a.endBy('SIGKILL');
    killBroker(files);
    await next.granted;
    await next.release();
    await a.ended;
    expect(userOfBroker()).not.toBe(MEMBERS[0].user);
    await bucket.isClean({ processes: 2 });
  });

  const REFUSALS = { 'open the bucket': 'SecurityError', 'stop the broker': 'EPERM' };
  test.each([
    ['a user of no group', []],
    ['a member of another group', [OTHER_GROUP]],
  ])('keep out %s', async (_title, groups) => {
    const [a] = members;
    const held = await a.hold('x');
    const { pid } = files.readEpoch(files.highestEpoch());
    const found = listAll(bucket.directory)
      .filter(({ entry }) => !entry.isDirectory())
      .map(({ entry, file }) => ({ file, isSocket: entry.isSocket() }));
    const options = [FOREIGN, bucket.directory, found, pid, groups];
    const [results] = await once(fork(STRANGER_PROGRAM, [JSON.stringify(options)]), 'message');
    expect(Object.keys(results)).toHaveLength(4 + 2 * found.length);
    for (const [attempt, result] of Object.entries(results)) {
      expect([attempt, result]).toEqual([attempt, REFUSALS[attempt] ?? 'EACCES']);
    }
    expect(await held.release('kept')).toEqual({ status: 'fulfilled', value: 'kept' });
  });
});

describeMembers('a directory', () => {
  let root;
  let directory;
  let files;
  beforeEach(() => {
    root = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
    fs.chmodSync(root, 0o755);
    directory = path.join(root, 'locks');
    makeShared(directory);
    files = new BrokerFiles('default', directory);
  });
  afterEach(() => {
    removeLocks(files);
    fs.rmSync(root, { recursive: true, force: true });
  });

  const [FIRST] = MEMBERS;
  const OPENS = `
    const { openLockManager } = require(${JSON.stringify(LIBRARY)});
    const locks = openLockManager({ url: 'broker://' + process.argv.at(-1) });
    const end = (text) => process.stdout.write(text, () => process.exit());
    const request = locks.request('x', () => 'granted');
    request.then(end, ({ name, message }) => end(name + ': ' + message));
  `;
  const openAs = (member, at = directory) => {
    const [program, ...words] = as(member);
    const args = [...words, process.execPath, '-e', OPENS, '--', at];
    return execFileSync(program, args, { encoding: 'utf8' });
  };

  test('is used by a program with the setuid bit of a member, whose user counts', () => {
    const program = path.join(root, 'node');
    fs.copyFileSync(process.execPath, program);
    fs.chownSync(program, FIRST.user, GROUP);
    fs.chmodSync(program, 0o6755); // the user and the group of the member
    const [command, ...words] = as(STRANGER);
    const args = [...words, program, '-e', `console.log(process.getuid());${OPENS}`, directory];
    const outcome = execFileSync(command, args, { encoding: 'utf8' });
    expect(outcome).toBe(`${STRANGER.user}\ngranted`);
    expect(openAs(MEMBERS[1])).toBe('granted');
    // The broker removes the lifelines of clients that have ended, maybe meanwhile.
    const owners = listAll(directory).map(
      ({ file }) => fs.statSync(path.join(directory, file), { throwIfNoEntry: false })?.uid,
    );
    expect(owners).not.toContain(STRANGER.user);
  });

  test("is refused while another member's journal is of another version, and left as it is", () => {
    expect(openAs(FIRST)).toBe('granted');
    killBroker(files);
    const journal = files.journalFile(files.highestEpoch());
    const text = fs.readFileSync(journal, 'utf8').replace(/^\["J",\d+,/, '["J",99,');
    fs.writeFileSync(journal, text);
    expect(fs.statSync(journal).uid).toBe(FIRST.user);
    const refusal = openAs(MEMBERS[1]);
    expect(refusal).toMatch(/^InvalidStateError: .*another version/);
    expect(refusal).toContain(`remove its journal: ${journal}`);
    expect(fs.readFileSync(journal, 'utf8')).toBe(text);
    fs.rmSync(journal);
    killBroker(files);
    expect(openAs(MEMBERS[1])).toBe('granted');
  });

  const chmod = (mode) => () => fs.chmodSync(directory, mode);
  const chown = (user, group) => () => {
    fs.chownSync(directory, user, group);
    fs.chmodSync(directory, 0o2770);
  };

  // setxattr(2) by its number, with a list in the form of linux/posix_acl_xattr.h: tag, rights and
  // number of the owner, of a user, of the group, the mask and all others.
  const SETXATTR = { x64: 188, arm64: 5 }[process.arch];
  const SET_LIST = `
    my $list = pack "V(vvV)5", 2, 1, 7, -1, 2, 7, ${FOREIGN}, 4, 7, -1, 16, 7, -1, 32, 0, -1;
    my ($file, $name) = ($ARGV[0], "system.posix_acl_access");
    exit(syscall(${SETXATTR}, $file, $name, $list, length $list, 0) == 0 ? 0 : 1);
  `;

  test('with an access control list is refused', () => {
    execFileSync('perl', ['-e', SET_LIST, directory]);
    expect(modeOf(fs.statSync(directory))).toBe('2770'); // the mode does not show it
    expect(openAs(FIRST)).toMatch(/^SecurityError: .* has an access control list.*setfacl -b/);
  });

  test.each([
    ['mode 2775', chmod(0o2775), /open to group or others, with mode 2775.*holdfast share/],
    ['mode 2777', chmod(0o2777), /open to group or others, with mode 2777.*holdfast share/],
    ['mode 0770', chmod(0o770), /open to group or others, with mode 0770.*holdfast share/],
    ['mode 3770', chmod(0o3770), /open to group or others, with mode 3770.*holdfast share/],
    ['group 65534', chown(0, UNKNOWN_GROUP), /its group has no number in this user namespace/],
    ['group 65534 and a member', chown(0, UNKNOWN_GROUP), /its group has no number/, UNKNOWN_GROUP],
    ['another group', chown(0, OTHER_GROUP), /is no member of that group/],
    ['an owner who is no member', chown(FOREIGN, GROUP), /belongs to user 10009.*chown root/],
  ])('with %s is refused with the reason', (_title, spoil, reason, group = GROUP) => {
    spoil();
    const { ino, mode } = fs.statSync(directory);
    const outcome = openAs({ ...FIRST, groups: [group] });
    expect(outcome).toMatch(new RegExp(`^SecurityError: ${directory} is refused: `));
    expect(outcome).toMatch(reason);
    expect(fs.statSync(directory)).toMatchObject({ ino, mode });
    expect(fs.readdirSync(directory)).toEqual([]);
  });

  test('of a member is used by the member, and refused for root alone', () => {
    chown(FIRST.user, GROUP)();
    expect(openAs(FIRST)).toBe('granted');
    expect(() => new BrokerFiles('default', directory).ensure()).toThrow(/chown root/);
  });

  test('of another member is used if the user database knows the owner as a member', () => {
    chown(DAEMON, DAEMON)();
    expect(openAs({ ...FIRST, groups: [DAEMON] })).toBe('granted');
  });

  test('in a folder that a member may not enter is refused', () => {
    fs.chmodSync(root, 0o700);
    expect(openAs(FIRST)).toMatch(/^SecurityError: .*permission denied/);
  });

  test.each([
    ['the bucket', () => files.folder],
    ['the folder of claims', () => files.epochsFolder],
    ['the folder of lifelines', () => files.lifelinesFolder],
  ])('that was shared after %s was made is refused with what to do', (_title, folder) => {
    files.ensure();
    fs.chmodSync(folder(), 0o700);
    expect(openAs(FIRST)).toMatch(
      /^SecurityError: .* (mode 0700, not 2770.*then remove it|may not enter)/,
    );
  });

  test('that is private has no shared folders', () => {
    files.ensure();
    chmod(0o700)();
    fs.chownSync(directory, 0, 0);
    expect(() => files.ensure()).toThrow(
      expect.objectContaining({ name: 'SecurityError', message: expect.stringContaining('0700') }),
    );
  });

  test('whose sockets would have too long paths is refused', () => {
    const long = path.join(root, 'x'.repeat(70));
    makeShared(long);
    expect(openAs(FIRST, long)).toMatch(
      /^SecurityError: .* shared with a group, and the paths of its sockets .*a shorter path$/,
    );
    expect(fs.readdirSync(long)).toEqual([]);
  });

  test.each(['darwin', 'freebsd'])('is refused where no mode is set safely: %s', (name) => {
    const elsewhere = new BrokerFiles('default', directory, platformOf(name));
    expect(() => elsewhere.ensure()).toThrow(
      expect.objectContaining({
        name: 'SecurityError',
        message: expect.stringMatching(/only on Linux, with \/proc: choose a directory of this/),
      }),
    );
    expect(fs.readdirSync(directory)).toEqual([]);
  });

  test('is refused to a member without /proc', () => {
    const args = ['-m', 'sh', '-c', 'mount -t tmpfs none /proc && exec "$0" "$@"'];
    const program = [...as(FIRST), process.execPath, '-e', OPENS, '--', directory];
    const outcome = execFileSync('unshare', [...args, ...program], { encoding: 'utf8' });
    expect(outcome).toMatch(/^SecurityError: .* only on Linux, with \/proc/);
  });

  const MAKES = `
    const { BrokerFiles } = require(${JSON.stringify(FILES)});
    process.stdin.once('data', () => {
      for (let i = 0; i < 200; i += 1) new BrokerFiles('b' + i, process.argv.at(-1)).ensure();
      process.exit();
    });
    process.stdout.write('ready');
  `;

  test('shows no bucket half made to members who make it at the same time', async () => {
    const children = MEMBERS.map((member) => {
      const [program, ...words] = as(member);
      const args = [...words, process.execPath, '-e', MAKES, '--', directory];
      return spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    });
    const ended = children.map((child) => once(child, 'exit'));
    await Promise.all(children.map((child) => once(child.stdout, 'data')));
    for (const child of children) child.stdin.write('go');
    for (const end of ended) expect(await end).toEqual([0, null]);
    const names = fs.readdirSync(directory);
    expect(names.filter((name) => !/^~b\d+~$/.test(name))).toEqual([]);
    expect(names).toHaveLength(200);
  });

  // Two threads that open the same new files in the same moments.
  const APPENDS = `
    const fs = require('node:fs');
    const { isMainThread, Worker, workerData } = require('node:worker_threads');
    const { BrokerFiles } = require(${JSON.stringify(FILES)});
    const ROUNDS = 500;
    function open([directory, memory]) {
      const files = new BrokerFiles('b', directory);
      files.ensure();
      const arrived = new Int32Array(memory);
      for (let round = 1; round <= ROUNDS; round += 1) {
        Atomics.add(arrived, 0, 1);
        while (Atomics.load(arrived, 0) < 2 * round);
        fs.closeSync(files.openForAppending(files.folder + '/log.' + round));
      }
    }
    const [, directory, source] = process.argv;
    if (isMainThread) {
      const data = [directory, new SharedArrayBuffer(4)];
      for (let i = 0; i < 2; i += 1) new Worker(source, { eval: true, workerData: data });
    } else {
      open(workerData);
    }
  `;

  test.each([
    ['shared', () => directory],
    ['private', () => path.join(root, 'private')],
  ])('that is %s lets two threads open a new log at the same time', (_title, where) => {
    const args = ['-e', APPENDS, '--', where(), APPENDS];
    execFileSync(process.execPath, args, { timeout: 30_000 });
    const logs = fs.readdirSync(path.join(where(), '~b~')).filter((name) => /^log/.test(name));
    expect(logs).toHaveLength(500);
  });

  test('keeps no drafts of members that were killed', () => {
    const draft = path.join(directory, `~draft-${randomUUID()}`);
    const fresh = path.join(directory, `~draft-${randomUUID()}`);
    for (const made of [draft, path.join(draft, 'claims'), fresh]) fs.mkdirSync(made);
    fs.utimesSync(draft, 0, 0);
    files.ensure();
    expect(fs.readdirSync(directory).sort()).toEqual([path.basename(fresh), '~default~'].sort());
  });

  describe('with things that a member has put there', () => {
    let secret;
    beforeEach(() => {
      secret = path.join(root, 'secret');
      fs.writeFileSync(secret, 'kept', { mode: 0o600 });
      files.ensure();
    });
    const isUnchanged = () => {
      expect(fs.readFileSync(secret, 'utf8')).toBe('kept');
      expect(modeOf(fs.statSync(secret))).toBe('600');
    };
    const use = async () => {
      const locks = openLockManager({ backend: new BrokerBackend({ directory }) });
      try {
        return await locks.request('x', () => 'granted');
      } catch ({ name, message }) {
        return `${name}: ${message}`;
      } finally {
        locks.close();
      }
    };
    /** To a file that has the rights of files here. */
    const linkInGroup = (file) => {
      fs.chownSync(secret, 0, GROUP);
      fs.chmodSync(secret, 0o660);
      fs.symlinkSync(secret, file);
    };
    const fifo = (file) => execFileSync('mkfifo', ['-m', '660', file]);

    test.each([
      ['a link', (file) => fs.symlinkSync(secret, file)],
      ['a FIFO', fifo],
      ['a file without the mode', (file) => fs.writeFileSync(file, '', { mode: 0o600 })],
    ])('%s for the log is replaced', async (_title, plant) => {
      plant(path.join(files.folder, 'log'));
      expect(await use()).toBe('granted');
      isUnchanged();
    });

    test.each([
      ['a link', (file) => fs.symlinkSync(secret, file)],
      ['a FIFO', fifo],
      ['a file without the mode', (file) => fs.writeFileSync(file, '{}', { mode: 0o600 })],
    ])('%s for a claim is refused', async (_title, plant) => {
      plant(files.epochFile(1));
      expect(await use()).toMatch(/^SecurityError: .*broker\.1 is refused: .*then remove it$/);
      isUnchanged();
    });

    test.each([
      ['a link', (file) => fs.symlinkSync(secret, file)],
      ['a link to a file of the group', linkInGroup],
      ['a FIFO', fifo],
    ])('%s for the last journal is refused', async (_title, plant) => {
      plant(files.journalFile(1));
      expect(await use()).toMatch(/^SecurityError: .*journal\.1 is refused: .*then remove it$/);
      expect(fs.readFileSync(secret, 'utf8')).toBe('kept');
    });

    /** Of a broker that a client can neither reach nor replace. */
    const makeUnreachable = () => {
      const socket = 's0123456789abcdef';
      fs.symlinkSync(socket, path.join(files.epochsFolder, socket)); // ELOOP
      files.writeNew(files.epochFile(1), JSON.stringify({ socket, key: 'k', pid: 1 }));
    };

    /** With a clock on which each look takes a second. */
    const newLauncher = () => {
      const clock = '../../lib/backends/broker/machine-clock.js';
      let now = 0;
      jest.doMock(clock, () => ({ ...jest.requireActual(clock), machineNow: () => (now += 1000) }));
      let launcher;
      jest.isolateModules(() => {
        const { Launcher } = require('../../lib/backends/broker/link.js');
        launcher = new Launcher(files);
      });
      jest.dontMock(clock);
      return launcher;
    };

    test.each([
      ['a file', (file) => files.writeNew(file, 'broker 1: it ended\n'), /: ELOOP$/],
      ['a FIFO', fifo, /: ELOOP$/],
      ['a link', (file) => fs.symlinkSync(secret, file), /: ELOOP$/],
    ])('%s for the log stops no client without a broker', async (_title, plant, reason) => {
      fs.writeFileSync(secret, 'Error: secret');
      plant(path.join(files.folder, 'log'));
      makeUnreachable();
      await expect(newLauncher().reach()).rejects.toThrow(reason);
    });

    test('the lines of the log since the first look tell why there is no broker', async () => {
      const log = path.join(files.folder, 'log');
      files.writeNew(log, 'Error: before\n');
      makeUnreachable();
      const reached = newLauncher().reach();
      fs.appendFileSync(log, `Error: now\n`);
      await expect(reached).rejects.toThrow(/: ELOOP; Error: now$/);
    });

    test('of a long log, its end is read', () => {
      const log = path.join(files.folder, 'log');
      files.writeNew(log, `${'x'.repeat(2 ** 20)}end`);
      const end = files.readEnd(log, 10);
      expect([end.length, end.slice(-4)]).toEqual([2 ** 16, 'xend']);
      expect(files.readEnd(log, 2 ** 20)).toBe('end');
      expect(files.readEnd(log, 2 ** 21)).toHaveLength(2 ** 16); // cut meanwhile
    });

    test('a thing of another group for the log is refused, and stays', async () => {
      const log = path.join(files.folder, 'log');
      fs.writeFileSync(log, 'kept', { mode: 0o600 });
      fs.chownSync(log, 0, OTHER_GROUP);
      expect(await use()).toMatch(/^SecurityError: .*log is refused: its group is \d+, not/);
      expect(fs.readFileSync(log, 'utf8')).toBe('kept');
    });

    test.each([
      ['the last journal', 1, () => files.journalFile(1)],
      ['a claim', 2, () => files.epochFile(1)],
    ])('a further name of a file elsewhere for %s is refused', async (_title, links, where) => {
      fs.chownSync(secret, 0, GROUP);
      fs.chmodSync(secret, 0o660);
      if (links === 2) fs.linkSync(secret, path.join(root, 'another'));
      fs.linkSync(secret, where());
      const reason = new RegExp(`^SecurityError: .* it has ${links + 1} names, more than ${links}`);
      expect(await use()).toMatch(reason);
      expect(fs.readFileSync(secret, 'utf8')).toBe('kept');
    });

    test('a further name of a file elsewhere for the log is removed', async () => {
      const log = path.join(files.folder, 'log');
      fs.chownSync(secret, 0, GROUP);
      fs.chmodSync(secret, 0o660);
      fs.linkSync(secret, log);
      expect(await use()).toBe('granted');
      expect(fs.statSync(log).ino).not.toBe(fs.statSync(secret).ino);
      expect(fs.readFileSync(secret, 'utf8')).toBe('kept');
    });

    test('a claim has the name of its draft for a moment', () => {
      files.writeNew(files.epochFile(1), JSON.stringify({ socket: 's0123456789abcdef', key: 'k' }));
      fs.linkSync(files.epochFile(1), path.join(files.folder, `draft-${randomUUID()}`));
      expect(files.readEpoch(1)).toMatchObject({ number: 1, key: 'k' });
    });

    test('a claim of any length blocks no member, and is followed by the next one', async () => {
      const fd = files.createFile(files.epochFile(1));
      fs.ftruncateSync(fd, 2 ** 40);
      fs.closeSync(fd);
      expect(() => files.readText(files.epochFile(1))).toThrow(/has 1099511627776 bytes, more/);
      expect(files.readEpoch(1)).toBeUndefined();
      expect(await use()).toBe('granted');
      expect(fs.readdirSync(files.epochsFolder)).toContain('broker.2');
    });

    test.each([[null], [{ boot: 'b', device: 1, inode: 1 }]])(
      'a claim that says of its folder %j is one of this folder',
      (outside) => {
        const claim = { socket: 's0123456789abcdef', key: 'k', pid: 1, outside };
        files.writeNew(files.epochFile(1), JSON.stringify(claim));
        expect(files.readEpoch(1).socket).toBe(path.join(files.epochsFolder, claim.socket));
      },
    );

    test('a claim that names a socket elsewhere is no claim', () => {
      const fd = files.createFile(files.epochFile(1));
      fs.writeSync(fd, JSON.stringify({ socket: '/run/other', key: 'k', pid: 1 }));
      fs.closeSync(fd);
      expect(files.readEpoch(1)).toBeUndefined();
    });

    test('pointers to files elsewhere lead to no file', () => {
      const own = path.join(root, 's0123456789abcdef');
      fs.writeFileSync(own, '');
      files = new BrokerFiles('default', directory, {
        ...platformOf('linux'),
        shortDirectory: () => root,
      });
      files.ensure();
      files.writeNew(path.join(files.lifelinesFolder, 'at-secret'), secret);
      files.writeNew(path.join(files.epochsFolder, 'at-s0123456789abcdef'), '');
      expect(listLifelines(files)).toEqual([]);
      removeLifeline(files, secret);
      expect(files.lifelinePath(secret)).toBe(path.join(files.lifelinesFolder, 'secret'));
      removeBrokerSockets(files, 'own');
      isUnchanged();
      expect(fs.existsSync(own)).toBe(true);
      expect(fs.readdirSync(files.epochsFolder)).toEqual([]);
    });

    test('a link in the place of a new socket changes no mode elsewhere', async () => {
      const socket = files.newSocketName(files.epochsFolder);
      fs.symlinkSync(secret, socket);
      expect(() => files.setSocketMode(socket)).toThrow(/is refused: it is not the socket/);
      const server = net.createServer();
      await new Promise((resolve) => server.listen(path.join(root, 's'), resolve));
      fs.rmSync(socket);
      fs.symlinkSync(path.join(root, 's'), socket);
      expect(() => files.setSocketMode(socket)).toThrow(/is refused: it is not the socket/);
      await new Promise((resolve) => server.close(resolve));
      isUnchanged();
    });

    test('a folder that leads elsewhere gets no file', () => {
      const elsewhere = path.join(root, 'elsewhere');
      fs.mkdirSync(elsewhere);
      fs.rmSync(files.folder, { recursive: true });
      fs.symlinkSync(elsewhere, files.folder);
      expect(() => files.createFile(files.journalFile(1))).toThrow(/is not of group/);
      expect(fs.readdirSync(elsewhere)).toEqual([]);
    });
  });
});

// HOLDFAST_SEED=<seed> repeats the draws; HOLDFAST_STRESS_KILLS makes it longer.
const SEED = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const KILLS = lengthOf('HOLDFAST_STRESS_KILLS', { whole: 10, part: 7 });
const MS_PER_KILL = 5000; // a watchdog

describeMembers('three members and their brokers that are killed at random', () => {
  let stress;
  let intruder;
  beforeAll(() => {
    const directory = path.join(fs.mkdtempSync(path.join(tmpdir(), 'holdfast-')), 'l');
    fs.chmodSync(path.dirname(directory), 0o755);
    makeShared(directory);
    const log = path.join(directory, 'log');
    fs.writeFileSync(log, '');
    fs.chmodSync(log, 0o660);
    stress = new BrokerStress(directory, {
      commands: MEMBERS.map((member) => [...as(member), process.execPath]),
      processes: 3,
      seed: SEED,
    });
  });
  afterAll(() => {
    intruder?.kill();
    stress.remove();
  });

  test(
    `exclude each other, in order; a stranger gets at nothing meanwhile (HOLDFAST_SEED=${SEED})`,
    async () => {
      const { violations, grants } = await stress.run({
        kills: KILLS,
        accompany: ({ directory, bucket, victim }) => {
          const url = `broker://${directory}`;
          intruder = new Intruder(STRANGER, { directory, bucket, victim, url });
          return () => intruder.end();
        },
      });
      const { killed, brokersKilled } = stress;
      const counts = `${killed.size} clients and ${brokersKilled} brokers killed, ${grants} grants`;
      console.log(`${counts}, ${intruder.attempts} attempts of a stranger`);
      expect(intruder.succeeded).toEqual([]);
      expect(intruder.attempts).toBeGreaterThan(0);
      expect(violations).toEqual([]);
      expect(grants).toBeGreaterThan(KILLS);
    },
    60_000 + KILLS * MS_PER_KILL,
  );
});
