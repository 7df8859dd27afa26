'use strict';

const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { examineEtcd, openEtcdBackend } = require('../../lib/etcd.js');
const { openLockManager } = require('../../lib/index.js');
const { Authority } = require('../support/certificates.js');
const { EtcdCluster, freePorts, sleep } = require('../support/etcd-cluster.js');

let directory;
let cluster;
/** @type {{ close: () => void }[]} */
let opened = [];

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'holdfast-'));
});
afterEach(async () => {
  for (const it of opened) it.close();
  opened = [];
  await cluster?.stop();
  cluster = undefined;
  rmSync(directory, { recursive: true });
});

function open(url, options) {
  const backend = openEtcdBackend(url, options);
  const locks = openLockManager({ backend });
  opened.push(locks);
  return { backend, locks };
}

/** A token lives for a second without use: keep-alives are further apart. */
const letExpire = () => sleep(3_000);

const take = (locks) => locks.request('a', { mode: 'exclusive' }, ({ token }) => token > 0n);

/** Another authority, with certificates of the server and of a client. */
function signAll() {
  const authority = new Authority(directory);
  for (const name of ['server', 'client']) authority.sign(name);
  return authority;
}

/** A cluster that wants certificates, and the files of a client that it knows. */
async function startWithTls() {
  const authority = signAll();
  const file = (name) => authority.file(name);
  const files = { ca: file('ca.crt'), cert: file('client.crt'), key: file('client.key') };
  const { ca, cert, key } = files;
  cluster = await EtcdCluster.start({
    extra: [
      ...['--cert-file', file('server.crt'), '--key-file', file('server.key')],
      ...['--client-cert-auth', '--trusted-ca-file', ca],
    ],
    rights: ['--cacert', ca, '--cert', cert, '--key', key],
  });
  return { authority, files };
}

test('TLS: with the authority and the certificate of the client, from files and from options; not without', async () => {
  const { authority, files } = await startWithTls();
  const plain = cluster.url('tls', '').replace('etcd:', 'etcds:');
  const words = new URLSearchParams(files);
  expect(await take(open(`${plain}?${words}`).locks)).toBe(true);
  const given = Object.fromEntries(
    [
      ['ca', 'ca.crt'],
      ['cert', 'client.crt'],
      ['key', 'client.key'],
    ].map(([name, file]) => [name, authority.read(file)]),
  );
  expect(await take(open(plain, given).locks)).toBe(true);
  expect(await examineEtcd(plain, given)).toMatchObject({ isUsable: true, problems: [] });
  const { ca: trusted } = given;
  const refused = [
    await examineEtcd(plain, { ca: trusted }), // no certificate of a client
    await examineEtcd(plain, { cert: given.cert, key: given.key }), // an unknown authority
    await examineEtcd(cluster.url('tls')), // no TLS
  ];
  expect(refused.map(({ isUsable }) => isUsable)).toEqual([false, false, false]);
});

test('certificates that are renewed in their files are taken up: of the authority, too', async () => {
  const { files } = await startWithTls();
  const words = new URLSearchParams({ ttl: 600, ...files });
  const url = `${cluster.url('tls').replace('etcd:', 'etcds:')}?${words}`;
  const { backend, locks } = open(url);
  const held = await locks.acquire('a');
  signAll(); // in the same files
  const [member] = cluster.members;
  await member.kill();
  member.start(cluster.members, 'existing');
  await cluster.untilHealthy();
  expect(await locks.request('b', () => 'granted')).toBe('granted');
  expect(held.signal.aborted).toBe(false);
  expect((await backend.status()).lost).toBe(0);
});

test('a password that is renewed in its file is taken up', async () => {
  cluster = await EtcdCluster.start({ extra: ['--bcrypt-cost', '4'] });
  const control = (...words) => cluster.control(...words);
  const addUser = async (password) => {
    await control('user', 'add', `app:${password}`, '--interactive=false');
    await control('user', 'grant-role', 'app', 'locks');
  };
  await control('user', 'add', 'root:root', '--interactive=false');
  await control('user', 'grant-role', 'root', 'root');
  await control('role', 'add', 'locks');
  await control('role', 'grant-permission', 'locks', 'readwrite', 'mine/', '--prefix=true');
  await addUser('first');
  await control('auth', 'enable');
  cluster.become(['--user', 'root:root']);
  const file = path.join(directory, 'password');
  writeFileSync(file, 'first\n');
  const { backend, locks } = open(
    `etcd://app@${cluster.endpoints[0]}/mine?ttl=600&passwordFile=${file}`,
  );
  const held = await locks.acquire('a');
  await control('user', 'delete', 'app');
  await addUser('second');
  writeFileSync(file, 'second\n');
  expect(await locks.request('b', () => 'granted')).toBe('granted');
  expect(held.signal.aborted).toBe(false);
  expect((await backend.status()).lost).toBe(0);
});

test('a user: each token that expires is renewed, during locks, waits and watches', async () => {
  cluster = await EtcdCluster.start({ extra: ['--auth-token-ttl', '1', '--bcrypt-cost', '4'] });
  const control = (...words) => cluster.control(...words);
  await control('user', 'add', 'root:secret of root', '--interactive=false');
  await control('user', 'add', 'app:p:w@/1', '--interactive=false');
  await control('role', 'add', 'locks');
  await control('role', 'grant-permission', 'locks', 'readwrite', 'mine/', '--prefix=true');
  await control('user', 'grant-role', 'app', 'locks');
  await control('user', 'add', 'writer:only', '--interactive=false');
  await control('role', 'add', 'writing');
  await control('role', 'grant-permission', 'writing', 'write', 'mine/', '--prefix=true');
  await control('user', 'grant-role', 'writer', 'writing');
  await control('user', 'grant-role', 'root', 'root');
  await control('auth', 'enable');
  cluster.become(['--user', 'root:secret of root']);
  const changeRights = () =>
    control('role', 'grant-permission', 'locks', 'read', `${Math.random()}`);
  const file = path.join(directory, 'password');
  writeFileSync(file, 'p:w@/1\n');
  const [endpoint] = cluster.endpoints;
  const inUrl = `etcd://app:${encodeURIComponent('p:w@/1')}@${endpoint}/mine?ttl=30`;
  const { backend, locks } = open(inUrl);
  const { locks: other } = open(`etcd://app@${endpoint}/mine?ttl=30&passwordFile=${file}`);
  await locks.query(); // its first token
  const watch = other.watch('a');
  await other.query(); // the watch has begun
  for (const makeStale of [letExpire, changeRights, letExpire, changeRights]) {
    await makeStale();
    const held = await locks.acquire('a');
    const waiting = other.request('a', ({ token }) => token);
    await other.query();
    held.release();
    expect(await waiting).toBeGreaterThan(held.token);
    const types = [];
    while (types.at(-1) !== 'released' || types.length < 5) {
      types.push((await watch.next()).value.type);
    }
    expect(types).toEqual(['granted', 'queued', 'released', 'granted', 'released']);
  }
  const { authentications, lost } = await backend.status();
  expect(authentications).toBeGreaterThan(2);
  expect(lost).toBe(0);
  await watch.return();
  const notAllowed = open(`etcd://app@${endpoint}/others`, { password: 'p:w@/1' });
  await expect(take(notAllowed.locks)).rejects.toMatchObject({ name: 'SecurityError' });
  const unread = open(`etcd://writer@${endpoint}/mine`, { password: 'only' });
  await expect(take(unread.locks)).rejects.toMatchObject({ name: 'SecurityError' });
  const unknown = open(`etcd://app@${endpoint}/mine`, { password: 'wrong' });
  await expect(take(unknown.locks)).rejects.toMatchObject({ name: 'SecurityError' });
});

test('several endpoints: those without a listener are passed over; a proxy of the environment is not used', async () => {
  cluster = await EtcdCluster.start({ size: 3 });
  const dead = await freePorts(2);
  const endpoints = [...dead.map((port) => `127.0.0.1:${port}`), ...cluster.endpoints];
  const proxies = ['http_proxy', 'https_proxy', 'grpc_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'];
  const before = proxies.map((name) => [name, process.env[name]]);
  for (const name of proxies) process.env[name] = `http://127.0.0.1:${dead[0]}`;
  try {
    for (let i = 0; i < 6; i += 1) {
      expect(await take(open(`etcd://${endpoints.join()}/several`).locks)).toBe(true);
    }
    const { locks } = open(`etcd://${cluster.endpoints.join()}/several`);
    for (const member of cluster.members) {
      await member.kill();
      expect(await take(locks)).toBe(true); // over the two others
      member.start(cluster.members, 'existing');
      await cluster.untilHealthy();
    }
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
});
