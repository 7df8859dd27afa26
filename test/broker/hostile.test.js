'use strict';

const fs = require('node:fs');
const net = require('node:net');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerBackend } = require('../../lib/backends/broker/backend.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { platformOf } = require('../../lib/backends/broker/platform.js');
const { proofOf, WIRE_VERSION } = require('../../lib/backends/broker/wire.js');
const { machineNow } = require('../../lib/backends/broker/machine-clock.js');
const { openLockManager } = require('../../lib/index.js');
const { removeLocks } = require('../support/broker-process.js');
const { RawClient } = require('../support/raw-client.js');

// A client that breaks the protocol loses the connection, and no other client notices.

let directory;
let files;
let locks;
let holder;
beforeAll(async () => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  files = new BrokerFiles('default', directory);
  locks = openLockManager({ backend: new BrokerBackend({ directory }) });
  holder = await locks.acquire('a');
});
afterAll(() => {
  locks.close();
  removeLocks(files);
});

const epoch = () => files.readEpoch(files.highestEpoch());

/**
 * Speaks to the broker by hand.
 * @param {(hi: any[]) => string[]} say  lines, after its greeting
 * @returns {Promise<void>} when it has ended the connection
 */
function speak(say) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(epoch().socket);
    let text = '';
    socket.setEncoding('utf8');
    socket.on('data', (piece) => {
      if (text.includes('\n')) return;
      text += piece;
      if (!text.includes('\n')) return;
      for (const line of say(JSON.parse(text.split('\n')[0]))) socket.write(line);
    });
    socket.on('error', () => {}); // it may be reset while we write
    socket.on('close', resolve);
    socket.on('timeout', () => reject(new Error('the connection was not ended')));
  });
}

const auth = ([, , nonce]) =>
  `${JSON.stringify(['auth', proofOf(epoch().key, 'client', nonce), 'n'])}\n`;
const STATE = {
  session: 's',
  clientId: 'c',
  lifeline: '/nowhere',
  thread: 't',
  pid: 1,
  pidNamespace: '',
  threadId: 0,
  upTo: 0,
  requests: [],
};
const handshake = (state = {}) => `${JSON.stringify(['hello', { ...STATE, ...state }])}\n`;

test.each([
  ['a wrong proof', () => ['["auth","00","n"]\n']],
  ['a proof that is no text', () => ['["auth",7,"n"]\n']],
  ['a handshake without a proof', () => [handshake()]],
  ['a request without a proof', () => ['["q",1,"a",0,0,null]\n']],
  ['no JSON', () => ['GET / HTTP/1.1\r\n\r\n']],
  ['no list', () => ['{"a":1}\n']],
  ['a request before the handshake', (hi) => [auth(hi), '["q",1,"a",0,0,null]\n']],
  ['an unknown message', (hi) => [auth(hi), handshake(), '["z",1]\n']],
  ['an unknown question', (hi) => [auth(hi), handshake(), '["?",1,"__proto__",0,[]]\n']],
  ['a request without a name', (hi) => [auth(hi), handshake(), '["q",1,5,0,0,null]\n']],
  ['a request with a wrong number', (hi) => [auth(hi), handshake(), '["q",-1,"a",0,0,null]\n']],
  ['extras that are none', (hi) => [auth(hi), handshake(), '["q",1,"a",0,0,[1]]\n']],
  ['a token that is none', (hi) => [auth(hi), handshake(), '["q",1,"p",0,0,[0,0,"","",1.5,0]]\n']],
  ['a time without end', (hi) => [auth(hi), handshake(), '["q",1,"p",0,1e999,null]\n']],
  ['two clients in one', (hi) => [auth(hi), handshake(), handshake({ session: 'other' })]],
  ['a handshake that is none', (hi) => [auth(hi), '["hello",null]\n']],
  ['requests that are none', (hi) => [auth(hi), handshake({ requests: [[9, [], 0, 0]] })]],
  ['a line without end before the proof', () => ['x'.repeat(2 ** 17)]],
  ['a line without end', (hi) => [auth(hi), handshake(), ...Array(130).fill('x'.repeat(2 ** 20))]],
])('%s ends that connection, and no other', async (_title, say) => {
  await speak(say);
  expect((await locks.query()).held).toHaveLength(1);
  expect(await locks.request('a', { ifAvailable: true }, (lock) => lock)).toBe(null);
  expect(holder.signal.aborted).toBe(false);
});

test('one connection is of one client: nothing is noted of another one', async () => {
  await speak((hi) => [auth(hi), handshake(), handshake({ session: 'the second' })]);
  await locks.query();
  const journal = path.join(files.folder, `journal.${files.highestEpoch()}`);
  expect(fs.readFileSync(journal, 'utf8')).not.toContain('the second');
});

test.each([[null], ['a'], [[99, 'x', null, {}, -1]], [{ length: 2 ** 40 }]])(
  'a question about what %j waits for is answered: it waits for nothing',
  async (ids) => {
    const client = await RawClient.open(epoch());
    client.handshake('asker');
    expect(await client.call('waitsOf', ids)).toMatchObject({ held: [], pending: [] });
    expect((await locks.query()).held).toHaveLength(1);
    client.close();
  },
);

test('a client that asks for a lock after its goodbye gets none, and keeps no other out', async () => {
  const client = await RawClient.open(epoch());
  client.handshake('leaver');
  client.say('bye', machineNow());
  client.request(1, 'b');
  expect(await locks.request('b', { ifAvailable: true }, (lock) => lock?.name)).toBe('b');
  client.close();
});

test.each([
  ['without its secret', WIRE_VERSION, { name: 'SecurityError' }],
  [
    'of another version',
    WIRE_VERSION + 1,
    {
      name: 'InvalidStateError',
      message: expect.stringContaining(`, process ${process.pid}, is of another version`),
    },
  ],
])('an answer in the place of the broker %s is refused', async (_, version, error) => {
  const other = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  const its = new BrokerFiles('default', other);
  its.ensure();
  const socket = its.newSocketName(its.folder);
  const server = net.createServer((connection) => {
    connection.on('error', () => {});
    connection.write(`["hi",${version},"n","boot",0]\n`);
    connection.on('data', () => connection.write('["welcome","00"]\n'));
  });
  await new Promise((resolve) => server.listen(socket, resolve));
  its.claimEpoch({ number: 1, socket, key: 'secret', pid: process.pid });
  const victim = openLockManager({ backend: new BrokerBackend({ directory: other }) });
  await expect(victim.request('a', () => {})).rejects.toMatchObject(error);
  victim.close();
  server.close();
  fs.rmSync(other, { recursive: true, force: true });
});

const testWithModes = platformOf().hasModes ? test : test.skip;

testWithModes('the sockets are for this user alone', () => {
  expect(fs.statSync(epoch().socket).mode & 0o777).toBe(0o600);
  expect(fs.statSync(files.epochFile(files.highestEpoch())).mode & 0o777).toBe(0o600);
});
