'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { platformOf } = require('../../lib/backends/broker/platform.js');
const { openLockManager } = require('../../lib/index.js');
const { removeLocks } = require('../support/broker-process.js');

// No other user gets to a broker, its clients or its journal; and what another user has made before
// is refused.

const PROGRAM = path.join(__dirname, 'broker-strangers-program.js');
const NOBODY = 65_534;

const isRoot = process.geteuid() === 0;
if (!isRoot) console.warn('Skipped: a broker and a second user: only root can be two users');
const testAsRoot = isRoot ? test : test.skip;

let root;
let directory;
let files;
let locks;
beforeEach(() => {
  root = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  fs.chmodSync(root, 0o755);
  directory = path.join(root, 'locks');
  files = new BrokerFiles('default', directory);
  locks = openLockManager({ url: `broker://${directory}` });
});
afterEach(() => {
  locks.close();
  removeLocks(files);
  fs.rmSync(root, { recursive: true, force: true });
});

/**
 * All that there is of a bucket but its folders, and but the socket of a further candidate, which
 * there is for a moment where the first one was slow.
 */
function listFiles() {
  const { socket } = files.readEpoch(files.highestEpoch());
  const isOfCandidate = ({ name, parentPath }) =>
    parentPath === path.dirname(socket) && name[0] === 's' && name !== path.basename(socket);
  return fs
    .readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && !isOfCandidate(entry))
    .map((entry) => ({
      file: path.relative(directory, path.join(entry.parentPath, entry.name)),
      isSocket: entry.isSocket(),
    }));
}

/** The outcome of each attempt of another user. */
async function callStranger() {
  const { pid } = files.readEpoch(files.highestEpoch());
  const options = [NOBODY, directory, listFiles(), pid];
  const [results] = await once(fork(PROGRAM, [JSON.stringify(options)]), 'message');
  return results;
}

const REFUSALS = { 'open the bucket': 'SecurityError', 'stop the broker': 'EPERM' };
const KINDS = [
  /broker\.1$/,
  /journal\.1$/,
  /log$/,
  /claims.s[0-9a-f]{16}$/,
  /lifelines.s[0-9a-f]{16}$/,
];

testAsRoot('another user cannot use, read, reach, remove or stop anything', async () => {
  const held = await locks.acquire('ledger');
  const before = listFiles();
  for (const kind of KINDS)
    expect(before.map(({ file }) => file)).toContainEqual(expect.stringMatching(kind));
  const results = await callStranger();
  for (const [attempt, result] of Object.entries(results)) {
    expect([attempt, result]).toEqual([attempt, REFUSALS[attempt] ?? 'EACCES']);
  }
  expect(Object.keys(results)).toHaveLength(4 + 2 * before.length);
  expect(listFiles()).toEqual(before);
  expect(held.signal.aborted).toBe(false);
  await held.release();
});

testAsRoot(
  'folders that were opened by mistake still show no file or socket to other users',
  async () => {
    await locks.query();
    for (const folder of [directory, files.folder, files.epochsFolder, files.lifelinesFolder]) {
      fs.chmodSync(folder, 0o755);
    }
    const results = await callStranger();
    delete results['read the directory']; // which it may now
    for (const [attempt, result] of Object.entries(results)) {
      expect([attempt, result]).toEqual([attempt, REFUSALS[attempt] ?? 'EACCES']);
    }
    await expect(openLockManager({ url: `broker://${directory}` }).query()).rejects.toThrow(
      /is open to group or others, with mode 0755/,
    );
  },
);

test('each socket and file is for its user alone, whatever the mask of new files', async () => {
  const mask = process.umask(0);
  try {
    await locks.request('ledger', () => {});
  } finally {
    process.umask(mask);
  }
  for (const { file } of listFiles()) {
    const { mode } = fs.statSync(path.join(directory, file));
    expect([file, mode & 0o777]).toEqual([file, 0o600]);
  }
});

/** A folder of another user, closed to all others. */
function plant(folder) {
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  fs.chownSync(folder, NOBODY, NOBODY);
}

testAsRoot.each([
  ['the directory', () => plant(directory)],
  ['the bucket', () => plant(files.folder)],
  ['the folder of claims', () => plant(files.epochsFolder)],
  ['the folder of lifelines', () => plant(files.lifelinesFolder)],
])('%s is refused if it belongs to another user', async (_title, spoil) => {
  spoil();
  fs.chmodSync(directory, 0o700);
  await expect(locks.request('ledger', () => {})).rejects.toMatchObject({
    name: 'SecurityError',
    message: expect.stringContaining(`another user (${NOBODY})`),
  });
});

testAsRoot('the short directory for sockets is refused if it belongs to another user', () => {
  const shortDirectory = () => path.join(root, 'short');
  plant(shortDirectory());
  const platform = { ...platformOf('linux'), pathLimit: 60, shortDirectory };
  const long = new BrokerFiles('default', directory, platform);
  expect(() => long.newSocketName(path.join(directory, 'x'.repeat(60)))).toThrow(
    expect.objectContaining({ name: 'SecurityError' }),
  );
});
