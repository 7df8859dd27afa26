'use strict';

const { spawnSync } = require('node:child_process');
const { randomUUID } = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles, newBrokerSocket } = require('../../lib/backends/broker/broker-files.js');
const { Lifeline, listLifelines } = require('../../lib/backends/broker/lifeline.js');
const { VERSION } = require('../../lib/backends/broker/server/journal.js');
const { openLockManager } = require('../../lib/index.js');
const { killBroker, removeLocks } = require('../support/broker-process.js');

// Files that killed processes have left in the folder of a bucket, and in the short folder.

/** Too long for the name of a socket: then it is in the short folder. */
const LONG_NAME = 'x'.repeat(100);
const BACKEND = path.join(__dirname, '../../lib/backends/broker/backend.js');
const LIBRARY = path.join(__dirname, '../../lib/index.js');
/** Takes a lock, and is killed with it. */
const DIES = `
  const { BrokerBackend } = require(${JSON.stringify(BACKEND)});
  const { openLockManager } = require(${JSON.stringify(LIBRARY)});
  const [directory, bucket] = process.argv.slice(-2); // Deno has one word more in front of them
  const backend = new BrokerBackend({ directory, bucket });
  openLockManager({ backend }).request('a', () => process.kill(process.pid, 'SIGKILL'));
`;

let directory;
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
});
afterEach(() => removeLocks(new BrokerFiles('jobs', directory)));

const useLock = async (files) => {
  const backend = new BrokerBackend({ directory: files.directory, bucket: files.bucket });
  const locks = openLockManager({ backend });
  const answer = await locks.request('a', () => 'granted');
  return { locks, answer };
};

/** The lifelines that there are, wherever their sockets are. */
const lifelinesOf = (files) => fs.readdirSync(files.lifelinesFolder);

test.each(['short', LONG_NAME])('of a client and a broker, in a folder %s', async (folder) => {
  const files = new BrokerFiles('jobs', path.join(directory, folder));
  const { signal } = spawnSync(process.execPath, ['-e', DIES, files.directory, 'jobs']);
  expect(signal).toBe('SIGKILL');
  killBroker(files);
  const deadSocket = files.readEpoch(files.highestEpoch()).socket;
  for (const name of [`draft-${randomUUID()}`, 'starting.1']) {
    fs.writeFileSync(path.join(files.folder, name), '');
  }
  // Of a broker that was killed before it had removed the journal of the one before.
  fs.renameSync(files.epochFile(1), files.epochFile(2));
  fs.copyFileSync(files.journalFile(1), files.journalFile(2));
  const abandoned = await abandonSocket(files);
  const ofOther = await abandonSocket(new BrokerFiles('other', files.directory));
  const { locks, answer } = await useLock(files);
  expect(answer).toBe('granted');
  while (lifelinesOf(files).length > 1) await locks.query(); // each is asked whether it lives
  // A client that read the folder just before this broker came may have marked it once more.
  const ownMark = `starting.${files.highestEpoch()}`;
  const names = fs.readdirSync(files.folder).filter((name) => name !== ownMark);
  expect(names.sort()).toEqual(['claims', `journal.${files.highestEpoch()}`, 'lifelines', 'log']);
  expect([deadSocket, abandoned, ofOther].map(fs.existsSync)).toEqual([false, false, true]);
  fs.rmSync(ofOther);
  locks.close();
  killBroker(files);
  expect(lifelinesOf(files)).toEqual([]);
});

/** The socket of a candidate that was killed before it made a claim. */
async function abandonSocket(files) {
  files.ensure();
  const name = newBrokerSocket(files);
  // The folder may be shared by all buckets of the user: this name is not in use.
  const listenAt = `${path.dirname(name)}/x${path.basename(name).slice(1)}`;
  const server = net.createServer().listen(listenAt);
  await once(server, 'listening');
  fs.renameSync(listenAt, name); // the end of the server removes the name that it knows
  server.close();
  return name;
}

test('the lifeline of a client that never spoke is removed, the lifeline of a living one is not', async () => {
  const files = new BrokerFiles('jobs', directory);
  files.ensure();
  const living = new Lifeline(files, () => {});
  const dead = files.newSocketName(files.lifelinesFolder);
  const server = net.createServer().listen(dead);
  fs.linkSync(dead, `${directory}/kept`);
  server.close();
  fs.renameSync(`${directory}/kept`, dead);
  expect(listLifelines(files).sort()).toEqual([living.name, path.basename(dead)].sort());
  const { locks } = await useLock(files);
  while (fs.existsSync(dead)) await locks.query();
  expect(listLifelines(files)).toContain(living.name);
  living.close();
  locks.close();
  killBroker(files);
});

test('a journal of before a reboot: all have ended, whatever its times say', async () => {
  const files = new BrokerFiles('jobs', directory);
  files.ensure();
  const later = 1e12; // the clock of a machine that has been up for 30 years
  const details = {
    clientId: 'c',
    pid: 1,
    pidNamespace: '',
    threadId: 0,
    thread: 't',
    lifeline: `${directory}/none`,
  };
  const extras = [0, 1e12, '', '', 0, 0];
  const records = [
    ['J', VERSION, 7, 2 ** 22, 5, 'boot', -later],
    ['S', 'old', details],
    ['Q', 'old', 1, 'a', 0, later, extras],
    ['G', 'old', 1, 2 ** 22, 6, later],
    ['Q', 'old', 2, 'a', 0, -later, null],
  ];
  const text = records.map((record) => `${JSON.stringify(record)}\n`).join('');
  fs.writeFileSync(path.join(files.folder, 'journal.7'), text);
  const { locks } = await useLock(files);
  const tokens = await Promise.all(
    Array.from({ length: 3 }, () => locks.request('a', ({ token }) => token)),
  );
  expect(tokens).toEqual([...tokens].sort((a, b) => Number(a - b))); // in the order of requests
  expect(tokens[0]).toBeGreaterThan((BigInt(2 ** 22) << 32n) + 6n);
  locks.close();
  killBroker(files);
});

test('a client that cannot listen says so', () => {
  const files = new BrokerFiles('jobs', directory);
  files.ensure();
  fs.rmSync(files.lifelinesFolder, { recursive: true });
  expect(() => new Lifeline(files, () => {})).toThrow(
    expect.objectContaining({ name: 'QuotaExceededError' }),
  );
});
