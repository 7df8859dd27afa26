'use strict';

const { execFileSync, spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const { createServer } = require('node:net');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { openLockManager } = require('../../lib/index.js');
const { FORKED, describeInside } = require('../support/namespaces.js');
const { Intruder } = require('../support/intruder.js');
const { PROCESS_BACKENDS } = require('../support/process-backends.js');
const { ProcessBucket, untilEqual } = require('../support/process-bucket.js');
const members = require('../support/members.js');

// Users of one group share the locks of a directory that root has prepared. No other user does.
const { GROUP, MEMBERS, MEMBER_OF_ANOTHER_GROUP, OTHER_GROUP, STRANGER, as, makeShared } = members;
const LIBRARY = join(__dirname, '../../lib/index.js');
const CAPACITY = 1 << 20;
const MODE = 0o7777;

members.describeMembers('three users of one group', () => {
  let bucket;
  let actors;
  beforeEach(async () => {
    bucket = new ProcessBucket({ prepare: makeShared });
    actors = await Promise.all(
      MEMBERS.map((member) => bucket.open('process', { inside: as(member) })),
    );
  });
  afterEach(() => bucket.close());
  const holderOf = async (name) =>
    (await bucket.locks.query()).held.find((lock) => lock.name === name)?.clientId;

  test('exclude each other and root, in the order of their requests', async () => {
    const [a, b, c] = actors;
    const release = await bucket.hold('x');
    const requests = [];
    for (const actor of [c, a, b, a]) requests.push(await actor.request('x'));
    await release();
    let lastToken = 0n;
    for (const [i, actor] of [c, a, b, a].entries()) {
      const { token } = await requests[i].granted;
      expect(token).toBeGreaterThan(lastToken);
      expect(await holderOf('x')).toBe(await actor.clientId());
      lastToken = token;
      await requests[i].release();
    }
  });

  test('have all files with the mode and the group of the directory, whatever the umask', () => {
    const folder = join(bucket.directory, 'process');
    for (const file of [folder, ...fs.readdirSync(folder).map((name) => join(folder, name))]) {
      const { gid, mode } = fs.statSync(file);
      const expected = file === folder ? 0o2770 : 0o660;
      expect([file, gid, (mode & MODE).toString(8)]).toEqual([file, GROUP, expected.toString(8)]);
    }
    expect(new Set(fs.readdirSync(folder).map((name) => fs.statSync(join(folder, name)).uid)).size)
      .toBe(MEMBERS.length + 1); // prettier-ignore
  });

  test('free what they hold and wait for when they are killed, and leave no file', async () => {
    const [victim, b, c] = actors;
    for (const name of ['for b', 'for c', 'for root']) await victim.hold(name);
    const waiting = [await b.request('for b'), await c.request('for c')];
    const ofRoot = bucket.hold('for root');
    victim.endBy('SIGKILL');
    await Promise.all(waiting.map(({ granted }) => granted));
    for (const request of waiting) await request.release();
    await (
      await ofRoot
    )();
    await victim.ended;
    await bucket.isClean({ processes: 2 });
  });

  test('leave files that another one removes, if all died at once', async () => {
    for (const actor of actors) await actor.hold('x', { mode: 'shared' });
    for (const actor of actors) actor.endBy('SIGKILL');
    await Promise.all(actors.map(({ ended }) => ended));
    const newcomer = await bucket.open('process', { inside: as(MEMBERS[1]) });
    await newcomer.hold('x');
    await bucket.hasFilesOf({ processes: 1 });
  });

  test('keep what they hold while they are stopped', async () => {
    const [holder, other] = actors;
    const held = await holder.hold('x');
    const waiting = await other.request('x');
    await holder.freeze();
    expect(await other.isLocked('x')).toBe(true);
    expect(await holderOf('x')).toBe(await holder.clientId());
    holder.thaw();
    await held.release();
    await waiting.granted;
    await waiting.release();
  });

  test('steal from each other, and the holder is notified', async () => {
    const [holder, stealer] = actors;
    const held = await holder.hold('x', {}, { reportsLoss: true });
    const stolen = await stealer.request('x', { steal: true });
    await stolen.granted;
    expect(await held.lost).toMatchObject({ reason: 'stolen' });
    await stolen.release();
  });

  test('are in the inspection with their process, state and command', async () => {
    const [holder, other] = actors;
    await holder.hold('x');
    const { held } = await other.inspectionOf('x');
    expect(held).toMatchObject([
      { processState: 'running', command: expect.stringContaining('actor') },
    ]);
  });

  test('keep their access if they leave the group, until they end', async () => {
    const [, b] = actors;
    const held = await b.hold('x');
    // As after `gpasswd -d`: the processes that run keep their groups, new ones have them no more.
    const without = { ...MEMBERS[1], groups: [] };
    const { stderr } = use(without, bucket.directory, 'process');
    expect(stderr).toMatch(/SecurityError: this user is not a member of the group/);
    const waiting = bucket.hold('x');
    await held.release();
    await (await waiting)(); // prettier-ignore
  });
});

/** Takes a lock as a user; waits for its end. */
function use(user, directory, bucketName = 'default') {
  const program = `require(${JSON.stringify(LIBRARY)})
    .openLockManager({ directory: ${JSON.stringify(directory)}, bucket: '${bucketName}',
      ${bucketName === 'default' ? `capacity: ${CAPACITY}` : ''} })
    .request('ledger', () => console.log('granted as ' + process.geteuid()))
    .catch(({ name, message }) => console.error(name + ': ' + message));`;
  const [command, ...words] = as(user);
  return spawnSync(command, [...words, process.execPath, '-e', program], { encoding: 'utf8' });
}

let root;
let directory;
let folder;
let segment;
beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), 'holdfast-'));
  fs.chmodSync(root, 0o755);
  directory = join(root, 'locks');
  folder = join(directory, 'default');
  segment = join(folder, 'segment');
});
afterEach(() => fs.rmSync(root, { recursive: true, force: true }));

const elsewhere = () => join(root, 'elsewhere');
/** A directory of another mode, owner or group. */
const made = (mode, { user = 0, group = GROUP } = {}) => {
  fs.mkdirSync(directory);
  fs.chownSync(directory, user, group);
  fs.chmodSync(directory, mode);
};
/** A table of the first member. */
const makeTable = () => {
  makeShared(directory);
  expect(use(MEMBERS[0], directory).stdout).toBe(`granted as ${MEMBERS[0].user}\n`);
};
/** The things that a member finds, and the reason in the refusal. */
const PLANTED = {
  'the setgid bit is missing': [() => made(0o770), /not shared: its mode is not 2770/],
  'others may look into it': [() => made(0o2775), /not shared: its mode is not 2770/],
  'others may write, as in a volume of fsGroup': [() => made(0o2777), /not 2770/],
  'it is sticky': [() => made(0o3770), /not 2770/],
  'it has the setuid bit': [() => made(0o6770), /not 2770/],
  'the group may not write': [() => made(0o2750), /belongs to another user/],
  'the group has no number here, as in a user namespace': [
    () => made(0o2770, { group: 65_534 }),
    /not a member|no number in this user namespace/,
  ],
  'the owner is no known member': [
    () => made(0o2770, { user: STRANGER.user }),
    /owner of the shared directory is neither root nor known/,
  ],
  'it is of another group': [() => made(0o2770, { group: OTHER_GROUP }), /not a member/],
  'it is a link': [
    () => {
      makeShared(elsewhere());
      fs.symlinkSync(elsewhere(), directory);
    },
    /symbolic link/,
  ],
  'the bucket is private': [
    () => {
      makeTable();
      fs.chmodSync(folder, 0o700);
    },
    /has not the group of its shared directory and the mode 2770/,
  ],
  'the bucket is of another group': [
    () => {
      makeTable();
      fs.chownSync(folder, 0, OTHER_GROUP);
      fs.chmodSync(folder, 0o2770);
    },
    /has not the group of its shared directory/,
  ],
  'the bucket is a link': [
    () => {
      makeShared(directory);
      makeShared(elsewhere());
      fs.symlinkSync(elsewhere(), folder);
    },
    /symbolic link/,
  ],
  'the segment is private': [
    () => {
      makeTable();
      fs.chmodSync(segment, 0o600);
    },
    /cannot open the segment file|not 0660/,
  ],
  'others may read the segment': [
    () => {
      makeTable();
      fs.chmodSync(segment, 0o664);
    },
    /mode of the segment file is not 0660/,
  ],
  'the segment is of another group': [
    () => {
      makeTable();
      fs.chownSync(segment, MEMBERS[1].user, OTHER_GROUP);
      fs.chmodSync(segment, 0o660);
    },
    /of another group than its directory/,
  ],
  'the segment is a link': [
    () => {
      makeTable();
      fs.renameSync(segment, elsewhere());
      fs.symlinkSync(elsewhere(), segment);
    },
    /symbolic link/,
  ],
  'the segment has a second name': [
    () => {
      makeTable();
      fs.linkSync(segment, elsewhere());
    },
    /hard links/,
  ],
  'the segment is a FIFO': [
    () => {
      makeTable();
      fs.unlinkSync(segment);
      execFileSync('mkfifo', ['-m', '660', segment]);
      fs.chownSync(segment, 0, GROUP);
    },
    /no regular file/,
  ],
  'the segment is a socket': [
    async () => {
      makeTable();
      fs.unlinkSync(segment);
      const server = createServer().listen(segment);
      await once(server, 'listening');
      fs.chownSync(segment, 0, GROUP);
      fs.chmodSync(segment, 0o660);
      return () => server.close();
    },
    /a socket or a device/,
  ],
};
members.describeMembers('a member refuses the table', () => {
  const isRefused = async (_, [plant, reason]) => {
    const remove = await plant();
    const before = fs.lstatSync(directory).ino;
    const { stdout, stderr } = use(MEMBERS[1], directory);
    expect(stdout).toBe('');
    expect(stderr).toMatch(/^(SecurityError|InvalidStateError): /);
    expect(stderr).toMatch(reason);
    expect(fs.lstatSync(directory).ino).toBe(before);
    await remove?.();
  };
  test.each(Object.entries(PLANTED))('if %s', isRefused);

  test('not if a known member of the group owns it, as in a team without root', () => {
    const [user, group] = [1, 1]; // the account "daemon", which is in its own group
    made(0o2770, { user, group });
    const { stdout, stderr } = use({ user: MEMBERS[1].user, groups: [group] }, directory);
    expect([stdout, stderr]).toEqual([`granted as ${MEMBERS[1].user}\n`, '']);
  });
});

members.describeMembers('a table of another version', () => {
  const VERSION_AT = 8; // behind the magic
  const changeVersion = () => {
    const fd = fs.openSync(segment, 'r+');
    fs.writeSync(fd, Buffer.from([250]), 0, 1, VERSION_AT);
    fs.closeSync(fd);
  };

  test('that another member uses is refused, and replaced once it has ended', async () => {
    makeTable();
    const source = `require(${JSON.stringify(LIBRARY)})
      .openLockManager({ directory: ${JSON.stringify(directory)} })
      .request('ledger', () => new Promise(() => process.stdout.write('held')));
      process.stdin.resume();`;
    const [command, ...words] = [...as(MEMBERS[0]), process.execPath, '-e', source];
    const holder = spawn(command, words, { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(holder.stdout, 'data');
    changeVersion();
    const before = fs.statSync(segment);
    expect(use(MEMBERS[1], directory).stderr).toMatch(
      /and processes use it.*none of them is visible here: see in other containers/,
    );
    expect(fs.statSync(segment).ino).toBe(before.ino);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    expect(use(MEMBERS[1], directory).stdout).toBe(`granted as ${MEMBERS[1].user}\n`);
    expect(fs.statSync(segment)).toMatchObject({ uid: MEMBERS[1].user, gid: GROUP });
  });
});

describeInside([...as(MEMBERS[0]), 'unshare', '--user'], 'a user namespace', () => {
  test('without a number for the group, or for the owner, is refused', () => {
    makeTable();
    const inside = (...words) => {
      const program = `require(${JSON.stringify(LIBRARY)})
        .openLockManager({ directory: ${JSON.stringify(directory)} })
        .request('ledger', () => console.log('granted'))
        .catch(({ name, message }) => console.error(name + ': ' + message));`;
      const all = [...words, process.execPath, '-e', program];
      return spawnSync(all[0], all.slice(1), { encoding: 'utf8' });
    };
    const unmapped = inside(...as(MEMBERS[0]), 'unshare', '--user', '--map-root-user');
    expect(unmapped.stderr).toMatch(/SecurityError: .*no number in this user namespace/);
    const ofGroup = ['setpriv', `--regid=${GROUP}`, '--clear-groups', `--reuid=${MEMBERS[0].user}`];
    const mapped = inside(...ofGroup, 'unshare', '--user', '--map-current-user');
    expect(mapped.stderr).toMatch(/SecurityError: .*owner of the shared directory is neither root/);
  });
});

members.describeMembers('root', () => {
  const open = async () => {
    const locks = openLockManager({ directory, capacity: CAPACITY });
    return locks.query().finally(() => locks.close());
  };

  test('uses a directory that it owns, and none of a user whose group it is not in', async () => {
    makeTable();
    await expect(open()).resolves.toMatchObject({ held: [] });
    fs.rmSync(directory, { recursive: true });
    made(0o2770, { user: 1, group: 1 });
    await expect(open()).rejects.toMatchObject({
      name: 'SecurityError',
      message: expect.stringMatching(/not a member of its group; chown root/),
    });
  });
});

members.describeMembers('a user outside of the group', () => {
  test.each([
    ['a stranger', STRANGER],
    ['a member of another group', MEMBER_OF_ANOTHER_GROUP],
  ])('%s gets at nothing', async (_, user) => {
    makeShared(directory);
    const locks = openLockManager({ directory, capacity: CAPACITY });
    await locks.request('ledger', async () => {
      const before = fs.readdirSync(folder);
      const intruder = new Intruder(user, { directory, bucket: 'default', victim: process.pid });
      await intruder.end();
      expect(intruder.succeeded).toEqual([]);
      expect(intruder.attempts).toBeGreaterThan(30);
      expect(fs.readdirSync(folder)).toEqual(before);
    });
    locks.close();
    expect(use(user, directory).stderr).toMatch(/SecurityError: this user is not a member/);
  });

  test('uses the table by a program with the setuid bit of a member, whose user counts', async () => {
    makeTable();
    const program = join(root, 'node');
    fs.copyFileSync(process.execPath, program);
    fs.chownSync(program, MEMBERS[0].user, GROUP);
    fs.chmodSync(program, 0o6755); // the user and the group of the member
    const [command, ...words] = as(STRANGER);
    const source = `require(${JSON.stringify(LIBRARY)})
      .openLockManager({ directory: ${JSON.stringify(directory)} })
      .request('ledger', () => console.log(process.getuid(), process.geteuid()))`;
    const { stdout } = spawnSync(command, [...words, program, '-e', source], { encoding: 'utf8' });
    expect(stdout).toBe(`${STRANGER.user} ${MEMBERS[0].user}\n`);
    expect(new Set(fs.readdirSync(folder))).toEqual(new Set(['segment']));
  });
});

members.describeMembers('a hostile member', () => {
  const OPENINGS = 300;
  /** Swaps files, and the folder of the bucket, for links that lead outside, and back. */
  const SWAPPER = `
    const fs = require('node:fs');
    const [folder, secret, outside] = process.argv.slice(1);
    const cell = new Int32Array(new SharedArrayBuffer(4));
    const sleep = (ms) => ms > 0 && Atomics.wait(cell, 0, 0, ms);
    let swaps = 0;
    const swap = (file, target) => {
      try {
        fs.renameSync(file, file + '.away');
        fs.symlinkSync(target, file);
        sleep(swaps++ % 2);
        fs.unlinkSync(file);
        fs.renameSync(file + '.away', file);
      } catch {} // its owner has removed it, or made it again
    };
    const restore = () => {
      if (!fs.existsSync(folder + '.away')) return;
      fs.rmSync(folder, { recursive: true, force: true });
      try {
        fs.renameSync(folder + '.away', folder);
      } catch {} // made again: at the next round
    };
    process.stdout.write('begun');
    for (let round = 0; ; round += 1) {
      restore();
      if (round % 4 === 0) swap(folder, outside);
      try {
        for (const name of fs.readdirSync(folder)) swap(folder + '/' + name, secret);
      } catch {} // at the next round
      sleep(round % 4); // else no opening would find all in its place
    }`;
  /** Opens the table until some openings were granted and others refused. */
  const OPENER = `
    const { openLockManager } = require(process.argv[2]);
    const results = { granted: 0, refused: 0, names: {} };
    const open = async (directory) => {
      const locks = openLockManager({ directory });
      try {
        await locks.request('ledger', { timeout: 1_000 }, () => {});
        results.granted += 1;
      } catch ({ name }) {
        results.refused += 1;
        results.names[name] = (results.names[name] ?? 0) + 1;
      }
      locks.close();
    };
    (async () => {
      let openings = 0;
      while (openings < ${OPENINGS} || results.granted === 0 || results.refused === 0) {
        await open(process.argv[1]);
        openings += 1;
      }
      console.log(JSON.stringify(results));
    })();`;

  test('can swap files and the bucket between check and use: no other user is led outside', async () => {
    makeTable();
    const secret = join(root, 'secret');
    fs.writeFileSync(secret, 'secret', { mode: 0o600 });
    fs.chownSync(secret, MEMBERS[1].user, MEMBERS[1].user);
    const outside = join(root, 'outside');
    makeShared(outside);
    const facts = ({ ino, mode, mtimeMs, size, uid }) => ({ ino, mode, mtimeMs, size, uid });
    const before = facts(fs.statSync(secret));
    const [command, ...words] = [...as(MEMBERS[0]), process.execPath, '-e', SWAPPER];
    const swapper = spawn(command, [...words, folder, secret, outside], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(swapper.stdout, 'data');
    const [program, ...args] = [...as(MEMBERS[1]), process.execPath, '-e', OPENER];
    const { stdout, stderr } = spawnSync(program, [...args, directory, LIBRARY], {
      encoding: 'utf8',
    });
    swapper.kill('SIGKILL');
    await once(swapper, 'exit');
    process.stdout.write(`${stdout}\n`);
    expect(stderr).toBe('');
    const { granted, refused } = JSON.parse(stdout);
    expect(granted).toBeGreaterThan(0);
    expect(refused).toBeGreaterThan(0);
    expect(facts(fs.statSync(secret))).toEqual(before);
    expect(fs.readdirSync(outside)).toEqual([]);
  });
});

members.describeMembers('containers of one volume', () => {
  const INSIDE = ['unshare', '--pid', '--mount-proc', '--mount', ...FORKED];

  test.each(Object.keys(PROCESS_BACKENDS))(
    'with other users exclude each other in a directory that an init container has made, over %s',
    async (backend) => {
      const volume = join(root, 'volume');
      fs.mkdirSync(volume);
      fs.chownSync(volume, 0, GROUP);
      fs.chmodSync(volume, 0o2777); // as a volume of Kubernetes with fsGroup
      makeShared(join(volume, 'locks'));
      const bucket = new ProcessBucket({ backend });
      const actors = await Promise.all(
        MEMBERS.map((member) =>
          bucket.open('process', {
            directory: join(volume, 'locks'),
            inside: [...INSIDE, ...as(member)],
          }),
        ),
      );
      const [a, b, c] = actors;
      const first = await a.hold('x');
      const waiting = [await b.request('x'), await c.request('x')];
      await first.release();
      await waiting[0].granted;
      b.endBy('SIGKILL');
      await waiting[1].granted;
      await waiting[1].release();
      expect((await a.inspectionOf('x')).held).toEqual([]);
      await untilEqual(() => c.isLocked('x'), false);
      await bucket.close();
      PROCESS_BACKENDS[backend].remove(join(volume, 'locks')); // and its broker
    },
  );
});
