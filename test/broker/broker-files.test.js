'use strict';

const fs = require('node:fs');
const net = require('node:net');
const { tmpdir } = require('node:os');
const path = require('node:path');
const {
  BrokerFiles,
  toBrokerFiles,
  removeBrokerSockets,
} = require('../../lib/backends/broker/broker-files.js');
const { platformOf } = require('../../lib/backends/broker/platform.js');
const { isLeader } = require('../../lib/backends/broker/server/election.js');

let directory;
let files;
const servers = [];
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  files = new BrokerFiles('jobs', directory);
  files.ensure();
});
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
  fs.rmSync(directory, { recursive: true, force: true });
});

const epochOf = (number, socket) => ({ number, socket, key: 'k', pid: process.pid });

/** A socket with a listener. */
function listen() {
  const socket = files.newSocketName(files.epochsFolder);
  return new Promise((resolve) => {
    const server = net.createServer((connection) => connection.destroy());
    servers.push(server);
    server.listen(socket, () => resolve(socket));
  });
}

/** A socket without a listener any more: its file is still there. */
async function deadSocket() {
  const socket = await listen();
  const copy = `${socket}x`;
  fs.linkSync(socket, copy);
  await new Promise((resolve) => servers.pop().close(resolve));
  return copy;
}

test('everything is for this user alone', () => {
  for (const folder of [files.folder, files.epochsFolder, files.lifelinesFolder]) {
    expect(fs.statSync(folder).mode & 0o777).toBe(0o700);
  }
});

test.each([
  ['that others may enter', () => fs.chmodSync(files.folder, 0o750), /chmod 700/],
  [
    'that is a link',
    () => {
      fs.rmSync(files.folder, { recursive: true });
      fs.mkdirSync(`${directory}/other`, { mode: 0o700 });
      fs.symlinkSync(`${directory}/other`, files.folder);
    },
    /not a directory/,
  ],
  [
    'that is a file',
    () => {
      fs.rmSync(files.folder, { recursive: true });
      fs.writeFileSync(files.folder, '');
    },
    /not a directory/,
  ],
])('a folder %s is refused, and left as it is', (_title, spoil, message) => {
  spoil();
  const attempt = () => files.ensure();
  expect(attempt).toThrow(expect.objectContaining({ name: 'SecurityError' }));
  expect(attempt).toThrow(message);
});

test('of two claims of one number one is made', () => {
  const [first, second] = ['a', 'b'].map((name) => path.join(files.epochsFolder, name));
  expect(files.claimEpoch(epochOf(1, first))).toBe(true);
  expect(files.claimEpoch(epochOf(1, second))).toBe(false);
  expect(files.readEpoch(1)).toMatchObject({ number: 1, socket: first });
  expect(files.highestEpoch()).toBe(1);
});

test('a claim leads to its socket also by another path to the directory', async () => {
  files.claimEpoch(epochOf(1, await listen()));
  fs.symlinkSync(directory, `${directory}.link`);
  try {
    const other = new BrokerFiles('jobs', `${directory}.link`);
    const { socket } = other.readEpoch(1);
    expect(path.dirname(socket)).toBe(other.epochsFolder);
    expect(await isLeader(other, epochOf(2, await listen()))).toBe(false);
    fs.rmSync(files.folder, { recursive: true });
    expect(fs.existsSync(socket)).toBe(false);
  } finally {
    fs.rmSync(`${directory}.link`);
  }
});

/** Only Linux has containers that share a directory, and says which boot it is. */
const testOnLinux = process.platform === 'linux' ? test : test.skip;

describe('a socket outside of the bucket', () => {
  const shortDirectory = () => path.join(directory, 'short');
  const hasNoReach = expect.objectContaining({
    name: 'InvalidStateError',
    message: expect.stringMatching(/shorter HOLDFAST_DIR.*then remove .*~jobs~$/),
  });
  beforeEach(() => {
    const pathLimit = Buffer.byteLength(directory) + '/short/s0123456789abcdefx'.length;
    files = new BrokerFiles('jobs', directory, {
      ...platformOf('linux'),
      pathLimit,
      shortDirectory,
    });
  });

  test('is found by its path', async () => {
    const socket = await listen();
    expect(path.dirname(socket)).toBe(shortDirectory());
    files.claimEpoch(epochOf(1, socket));
    expect(files.readEpoch(1)).toMatchObject({ socket });
  });

  testOnLinux('is not taken for dead where its path leads to another folder', async () => {
    files.claimEpoch(epochOf(1, await listen()));
    fs.renameSync(shortDirectory(), path.join(directory, 'of another container'));
    fs.mkdirSync(shortDirectory(), { mode: 0o700 });
    expect(() => files.readEpoch(1)).toThrow(hasNoReach);
    await expect(isLeader(files, epochOf(2, await listen()))).rejects.toThrow(hasNoReach);
  });

  testOnLinux('is not taken for dead where its folder is not there', async () => {
    files.claimEpoch(epochOf(1, await listen()));
    fs.renameSync(shortDirectory(), path.join(directory, 'of another container'));
    expect(() => files.readEpoch(1)).toThrow(hasNoReach);
  });

  testOnLinux('is dead after a reboot', async () => {
    files.claimEpoch(epochOf(1, await deadSocket()));
    const epoch = JSON.parse(fs.readFileSync(files.epochFile(1), 'utf8'));
    const outside = { boot: 'the one before', device: 0, inode: 0 };
    fs.writeFileSync(files.epochFile(1), JSON.stringify({ ...epoch, outside }));
    fs.renameSync(shortDirectory(), path.join(directory, 'removed'));
    expect(files.readEpoch(1)).toMatchObject({ number: 1 });
    expect(await isLeader(files, epochOf(2, await listen()))).toBe(true);
  });

  test('a path that is too long is reported, and proves nothing', async () => {
    const socket = `${shortDirectory()}/${'x'.repeat(30)}`;
    files.claimEpoch(epochOf(1, socket));
    expect(() => files.readEpoch(1)).toThrow(hasNoReach);
    expect(await files.isProofOfDeath('ENOENT', { socket, pid: 0 })).toBe(false);
  });
});

test('a claim behind which a broker listens keeps the next one out', async () => {
  files.claimEpoch(epochOf(1, await listen()));
  expect(await isLeader(files, epochOf(2, await listen()))).toBe(false);
  expect(files.highestEpoch()).toBe(1);
});

test('a claim without a listener is followed by the next one, and by no other', async () => {
  files.claimEpoch(epochOf(1, await deadSocket()));
  expect(await isLeader(files, epochOf(3, await listen()))).toBe(false);
  expect(await isLeader(files, epochOf(2, await listen()))).toBe(true);
  expect(await isLeader(files, epochOf(2, await listen()))).toBe(false);
});

test('a claim whose socket was removed meanwhile does not lead: others take it for dead', async () => {
  const socket = await listen();
  removeBrokerSockets(files, 'of another broker');
  expect(await isLeader(files, epochOf(1, socket))).toBe(false);
});

test('if all claims were removed, the numbers continue behind the last journal', async () => {
  for (const number of [3, 12]) fs.writeFileSync(files.journalFile(number), '');
  expect(files.highestEpoch()).toBe(12);
  expect(await isLeader(files, epochOf(1, await listen()))).toBe(false);
  expect(await isLeader(files, epochOf(13, await listen()))).toBe(true);
  expect(files.highestEpoch()).toBe(13);
});

test('a late claim below the highest does not lead', async () => {
  files.claimEpoch(epochOf(3, await listen()));
  files.removeEpochsBelow(3);
  expect(await isLeader(files, epochOf(2, await listen()))).toBe(false);
});

test('if a full backlog is refused too, the process has to be gone as well', async () => {
  const mac = new BrokerFiles('jobs', directory, platformOf('darwin'));
  const socket = '/nowhere';
  const gone = { socket, pid: 2 ** 22 + 1 };
  const living = { socket, pid: process.pid };
  expect(await mac.isProofOfDeath('ECONNREFUSED', living)).toBe(false);
  expect(await mac.isProofOfDeath('ECONNREFUSED', gone)).toBe(true);
  expect(await files.isProofOfDeath('ECONNREFUSED', living)).toBe(true);
  for (const code of ['EAGAIN', 'EMFILE', 'EACCES', undefined]) {
    expect(await files.isProofOfDeath(code, gone)).toBe(false);
  }
});

/** As on macOS, where `present` is what is said of the start of every process. */
const macSaying = (present) =>
  new BrokerFiles('jobs', directory, { ...platformOf('darwin'), startOf: async () => present });

test.each([
  ['another process has its number by now', 'Monday', 'Tuesday', true],
  ['its process is still there', 'Monday', 'Monday', false],
  ['nothing is known of the present process', 'Monday', undefined, false],
  ['nothing was known of its process', undefined, 'Tuesday', false],
])('of a dead claim: %s', async (_title, start, present, isFollowed) => {
  files = macSaying(present);
  files.claimEpoch({ ...epochOf(1, await deadSocket()), start });
  expect(await isLeader(files, epochOf(2, await listen()))).toBe(isFollowed);
});

test('the name of a socket names the process where a refusal alone is no proof', () => {
  const mac = macSaying('Monday');
  const names = [1, 2].map(() => mac.newSocketName(mac.lifelinesFolder));
  expect(names.map((name) => mac.pidInName(name))).toEqual([process.pid, process.pid]);
  expect(names[0]).not.toBe(names[1]);
  expect(mac.pidInName('/nowhere')).toBe(process.pid); // which proves nothing
});

test('a socket whose path is too long is in a short folder of this user', () => {
  const folder = path.join(directory, 'x'.repeat(110));
  const shortDirectory = () => path.join(directory, 'short');
  const platform = { ...platformOf('darwin'), shortDirectory };
  const socket = new BrokerFiles('jobs', directory, platform).newSocketName(folder);
  expect(path.dirname(socket)).toBe(path.join(directory, 'short'));
  expect(fs.statSync(path.dirname(socket)).mode & 0o777).toBe(0o700);
});

test('sockets of Windows are pipes with random names', () => {
  const windows = new BrokerFiles('jobs', directory, platformOf('win32'));
  const names = [1, 2].map(() => windows.newSocketName(windows.folder));
  expect(names[0]).toMatch(/^\\\\\.\\pipe\\holdfast-[0-9a-f-]{36}$/);
  expect(names[0]).not.toBe(names[1]);
});

test('a directory that cannot be made is refused with the variable that names another', () => {
  const nowhere = new BrokerFiles('jobs', '/proc/nowhere/locks'); // not even root can make it
  expect(() => nowhere.ensure()).toThrow(/cannot be made: .*; or set HOLDFAST_DIR to a directory/);
});

test('HOLDFAST_DIR that is not absolute is refused', () => {
  process.env.HOLDFAST_DIR = 'here';
  try {
    expect(() => toBrokerFiles({})).toThrow(TypeError);
  } finally {
    delete process.env.HOLDFAST_DIR;
  }
});
