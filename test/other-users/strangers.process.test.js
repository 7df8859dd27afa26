'use strict';

const { execFileSync, fork, spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const { createServer } = require('node:net');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { openLockManager } = require('../../lib/index.js');

// No other user gets in, and a planted file is refused with the reason.
const PROGRAM = join(__dirname, 'strangers-program.js');
const LIBRARY = join(__dirname, '../../lib/index.js');
const NOBODY = 65_534;
const CAPACITY = 1 << 20;

const isRoot = process.geteuid() === 0;
const NOT_ROOT = 'only root can be two users';
if (!isRoot) console.warn(`Skipped: tests with a second user: ${NOT_ROOT}`);
const testAsRoot = isRoot ? test : test.skip;

let root;
let directory;
let folder;
let segment;
const opened = [];
beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), 'holdfast-'));
  fs.chmodSync(root, 0o755);
  directory = join(root, 'locks');
  folder = join(directory, 'default');
  segment = join(folder, 'segment');
});
afterEach(() => {
  for (const locks of opened.splice(0)) locks.close();
  fs.rmSync(root, { recursive: true, force: true });
});

/** The lock manager of the directory; the first use opens the bucket. */
async function open() {
  const locks = openLockManager({ directory, capacity: CAPACITY });
  opened.push(locks);
  await locks.query();
  return locks;
}

testAsRoot('another user can neither open nor read nor ring nor stop anything', async () => {
  const locks = await open();
  await locks.request('ledger', async () => {
    const files = fs.readdirSync(folder).filter((name) => name !== 'segment');
    expect(files).toHaveLength(2); // a doorbell and a lifeline
    const stranger = fork(PROGRAM, [JSON.stringify([NOBODY, directory, files, process.pid])]);
    const [results] = await once(stranger, 'message');
    for (const [attempt, result] of Object.entries(results)) {
      const isOpening = attempt.startsWith('open ');
      const expected = isOpening
        ? expect.stringMatching(/^SecurityError: .*another user/)
        : 'EACCES';
      expect([attempt, result]).toEqual([attempt, expected]);
    }
    expect(Object.keys(results)).toHaveLength(12);
  });
  expect(fs.readdirSync(folder)).toHaveLength(3);
});

const makeFolder = () => fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
const makeSegment = (size, mode = 0o600) => {
  makeFolder();
  fs.writeFileSync(segment, Buffer.alloc(size), { mode });
};
/** A real segment, of a process that has left. */
async function leaveSegment() {
  (await open()).close();
}
const elsewhere = () => join(root, 'elsewhere');
const mkfifo = (path) => void execFileSync('mkfifo', ['-m', '600', path]);

/** The planted files, and the reason in the refusal. */
const PLANTED = {
  'a link for the directory': [
    () => {
      fs.mkdirSync(elsewhere(), { mode: 0o700 });
      fs.symlinkSync(elsewhere(), directory);
    },
    /symbolic link/,
  ],
  'a link for the bucket': [
    () => {
      fs.mkdirSync(elsewhere(), { mode: 0o700 });
      fs.mkdirSync(directory, { mode: 0o700 });
      fs.symlinkSync(elsewhere(), folder);
    },
    /symbolic link/,
  ],
  'a link that leads nowhere': [() => fs.symlinkSync('nowhere', directory), /symbolic link/],
  'a file for the directory': [() => fs.writeFileSync(directory, ''), /no directory/],
  'a FIFO for the directory': [() => mkfifo(directory), /no directory/],
  'a directory that others may write': [
    () => {
      fs.mkdirSync(directory);
      fs.chmodSync(directory, 0o777);
    },
    /open to group or others.*: \/.*\/locks$/,
  ],
  'a bucket that the group may read': [
    () => {
      makeFolder();
      fs.chmodSync(folder, 0o740);
    },
    /open to group or others.*: \/.*\/locks\/default$/,
  ],
  'a directory that its owner may not write': [
    () => {
      fs.mkdirSync(directory);
      fs.chmodSync(directory, 0o500);
    },
    /lacks rights of its owner/,
  ],
  'a link for the segment': [
    async () => {
      await leaveSegment();
      fs.renameSync(segment, elsewhere());
      fs.symlinkSync(elsewhere(), segment);
    },
    /symbolic link/,
  ],
  'a FIFO for the segment': [
    () => {
      makeFolder();
      mkfifo(segment);
    },
    /no regular file/,
  ],
  'a directory for the segment': [
    () => {
      makeFolder();
      fs.mkdirSync(segment);
    },
    /a directory is in the place/,
  ],
  'a socket for the segment': [
    async () => {
      makeFolder();
      const server = createServer().listen(segment);
      await once(server, 'listening');
      return () => server.close();
    },
    /a socket or a device/,
  ],
  'a segment with a second name': [
    async () => {
      await leaveSegment();
      fs.linkSync(segment, elsewhere());
    },
    /hard links/,
  ],
  'a segment that others may read': [
    async () => {
      await leaveSegment();
      fs.chmodSync(segment, 0o644);
    },
    /mode of the segment file is not 0600/,
  ],
  'an empty segment': [() => makeSegment(0), /empty/],
  'a segment of one byte': [() => makeSegment(1), /cut off/],
  'a short segment': [
    async () => {
      await leaveSegment();
      fs.truncateSync(segment, CAPACITY / 4);
    },
    /cut off|holes|sizes/,
  ],
  'a huge segment': [
    async () => {
      await leaveSegment();
      fs.truncateSync(segment, 2 ** 40);
    },
    /too large/,
  ],
  'a sparse segment': [
    () => {
      makeSegment(0);
      fs.truncateSync(segment, CAPACITY);
    },
    /holes/,
  ],
  'a segment full of zeros': [() => makeSegment(CAPACITY), /not a holdfast segment/],
};

const PLANTED_AS_ROOT = {
  'the directory of another user': [
    () => {
      fs.mkdirSync(directory, { mode: 0o700 });
      fs.chownSync(directory, NOBODY, NOBODY);
    },
    /belongs to another user/,
  ],
  'the bucket of another user': [
    () => {
      makeFolder();
      fs.chownSync(folder, NOBODY, NOBODY);
    },
    /belongs to another user/,
  ],
  'the segment of another user': [
    async () => {
      await leaveSegment();
      fs.chownSync(segment, NOBODY, NOBODY);
    },
    /belongs to another user/,
  ],
};

/** Refused, with the reason, and left as it was. */
async function isRefused([plant, reason]) {
  const remove = await plant();
  const before = fs.lstatSync(directory).ino;
  const name = expect.stringMatching(/^(SecurityError|InvalidStateError)$/);
  await expect(open()).rejects.toMatchObject({ name, message: expect.stringMatching(reason) });
  expect(fs.lstatSync(directory).ino).toBe(before);
  if (fs.existsSync(elsewhere()) && fs.statSync(elsewhere()).isDirectory()) {
    expect(fs.readdirSync(elsewhere())).toEqual([]);
  }
  await remove?.();
}

test.each(Object.entries(PLANTED))('%s is refused with the reason', (_, planted) =>
  isRefused(planted),
);
testAsRoot.each(Object.entries(PLANTED_AS_ROOT))('%s is refused with the reason', (_, planted) =>
  isRefused(planted),
);

test('a directory whose own place is missing is refused with the way to name another', async () => {
  const locks = openLockManager({ directory: join(directory, 'missing', 'locks') });
  await expect(locks.query()).rejects.toMatchObject({
    name: 'SecurityError',
    message: expect.stringMatching(/does not exist.*set HOLDFAST_DIR to a directory/),
  });
});

/** A segment of another version: its layout version follows the magic. */
function changeLayoutVersion() {
  const fd = fs.openSync(segment, 'r+');
  fs.writeSync(fd, Buffer.from([250]), 0, 1, 8);
  fs.closeSync(fd);
}

test('a segment of another layout is refused while a process uses it, then replaced', async () => {
  const use = `require(${JSON.stringify(LIBRARY)})
    .openLockManager(${JSON.stringify({ directory, capacity: CAPACITY })})
    .request('ledger', () => new Promise(() => process.stdout.write('held')));
    setInterval(() => {}, 1e6); // a lock that is held keeps no process alive`;
  const user = spawn(process.execPath, ['-e', use], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(user.stdout, 'data');
  changeLayoutVersion();
  const users = new RegExp(`and processes use it; .*used by process ${user.pid} \\(\\S*node -e `);
  await isRefused([() => {}, users]);
  user.kill('SIGKILL');
  await once(user, 'exit');
  const left = fs.statSync(segment).ino;
  await expect((await open()).request('ledger', () => 'granted')).resolves.toBe('granted');
  expect(fs.statSync(segment).ino).not.toBe(left);
});

describe('a file with the name of a doorbell or a lifeline', () => {
  /** The names that the next process would give to its files. */
  async function nextNames() {
    const locks = await open();
    const names = fs.readdirSync(folder).filter((name) => name !== 'segment');
    locks.close();
    return names.map((name) => name.replace(/-(\d+|[0-9a-f]+)-/, (_, n) => `-${Number(n) + 1}-`));
  }
  const REFUSED = /^SecurityError: .*a file with the name of a doorbell is no doorbell; remove it/;
  const PLANTS = {
    'a file': [(path) => fs.writeFileSync(path, ''), REFUSED],
    'a directory': [(path) => fs.mkdirSync(path), REFUSED],
    'a link': [(path) => fs.symlinkSync(elsewhere(), path), REFUSED],
    'a FIFO with a reader': [
      (path) => {
        mkfifo(path);
        readers.push(fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK));
      },
      /^OperationError: .*in use/,
    ],
    'a FIFO without a reader': [mkfifo, /^granted$/],
  };
  const readers = [];
  afterEach(() => {
    for (const fd of readers.splice(0)) fs.closeSync(fd);
  });

  const use = async () => (await open()).request('ledger', () => 'granted');

  test.each(Object.keys(PLANTS))(
    '%s is refused or replaced, and stalls no process',
    async (kind) => {
      const [plant, expected] = PLANTS[kind];
      const planted = await nextNames();
      for (const name of planted) plant(join(folder, name));
      const outcomes = [];
      while (outcomes.length <= planted.length) {
        outcomes.push(await use().catch(({ name, message }) => `${name}: ${message}`));
      }
      expect(outcomes[0]).toMatch(expected);
      expect(outcomes.at(-1)).toBe('granted'); // under other names
      expect(fs.existsSync(elsewhere())).toBe(false);
    },
  );
});
