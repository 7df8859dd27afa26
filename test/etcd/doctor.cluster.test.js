'use strict';

const { spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { loadServices } = require('../../lib/backends/etcd/grpc-library.js');
const { PROGRAM } = require('../support/cli.js');
const { Authority } = require('../support/certificates.js');
const { EtcdCluster, freePorts } = require('../support/etcd-cluster.js');

let directory;
/** @type {EtcdCluster[]} */
let clusters = [];

beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'holdfast-'));
});
afterEach(async () => {
  await Promise.all(clusters.map((cluster) => cluster.stop()));
  clusters = [];
  rmSync(directory, { recursive: true });
});

async function start(options) {
  const cluster = await EtcdCluster.start(options);
  clusters.push(cluster);
  return cluster;
}

/** The output of `holdfast doctor` about a URL, which it has from its environment. */
function examine(url, { words = [], launch = [] } = {}) {
  const [program, ...rest] = [...launch, process.execPath, PROGRAM, 'doctor', ...words];
  const { status, stdout, stderr } = spawnSync(program, rest, {
    encoding: 'utf8',
    env: { ...process.env, HOLDFAST_URL: url, HOLDFAST_DIR: directory, NO_COLOR: '1' },
  });
  return { status, stdout, stderr };
}

test('three members that are well: each one, who leads, room, clock, rights; status 0', async () => {
  const cluster = await start({ size: 3 });
  let found = examine(cluster.url('app'));
  const times = (text) => found.stdout.split(text).length - 1;
  // Members are asked one by one, and may elect another leader meanwhile.
  while (times(', the leader, ') !== 1 || times(', a follower, ') !== 2) {
    found = examine(cluster.url('app'));
  }
  const { status, stdout } = found;
  for (const endpoint of cluster.endpoints) {
    expect(stdout).toMatch(new RegExp(`^ok {4}${endpoint} is etcd 3\\.\\d+\\.\\d+, `, 'm'));
    expect(stdout).toMatch(new RegExp(`^ok {4}${endpoint}: \\d+ MiB of \\d+ MiB are used$`, 'm'));
    expect(stdout).toMatch(new RegExp(`^ok {4}${endpoint}: its clock and this one agree`, 'm'));
  }
  const [, ms] = /keys below 'app' can be read and written, in ([\d.]+) ms$/m.exec(stdout);
  const level = Number(ms) < 100 ? 'ok  ' : 'WARN'; // a slow cluster is a warning
  expect(stdout).toContain(`${level}  keys below 'app'`);
  expect(stdout).toMatch(/^ok {4}the bucket can be opened: 0 names, 0 held, 0 waiting$/m);
  if (level === 'ok  ') expect(stdout).toMatch(/^No problem was found\.$/m);
  expect(status).toBe(0);
  while ((await cluster.keys()).length > 0); // it leaves none behind
});

test('--url takes the place of the environment, --json gives one finding per line', async () => {
  const cluster = await start();
  const { status, stdout } = examine('shm:', { words: ['--url', cluster.url(), '--json'] });
  const findings = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(findings.map(({ level }) => level)).not.toContain('fault');
  expect(findings[0].title).toBe(`locks of ${cluster.url()}`);
  expect(status).toBe(0);
});

test('a member without a listener is a fault, although the others serve', async () => {
  const cluster = await start();
  const [port] = await freePorts(1);
  const { status, stdout } = examine(`etcd://127.0.0.1:${port},${cluster.endpoints[0]}/app`);
  expect(stdout).toMatch(new RegExp(`^FAIL {2}127\\.0\\.0\\.1:${port} is not reached: `, 'm'));
  expect(stdout).toMatch(/→ nothing listens there/);
  expect(stdout).toMatch(/^(ok {4}|WARN {2})keys below 'app' can be read and written/m);
  expect(status).toBe(1);
});

test('no listener at all: nothing is said of rights', async () => {
  const [port] = await freePorts(1);
  const { status, stdout } = examine(`etcd://127.0.0.1:${port}/app`);
  expect(stdout).toMatch(/→ nothing listens there/);
  expect(stdout).not.toMatch(/keys below/);
  expect(status).toBe(1);
});

test('members without a leader are faults, with what is missing', async () => {
  const cluster = await start({ size: 3 });
  await Promise.all(cluster.members.slice(1).map((member) => member.kill()));
  const url = `etcd://${cluster.endpoints[0]}/app`;
  let found = examine(url);
  while (!/no leader/.test(found.stdout)) found = examine(url); // it takes it an election to know
  expect(found.stdout).toMatch(/→ more than half of all members have to run/);
  expect(found.status).toBe(1);
});

test('endpoints of two clusters are a fault', async () => {
  const [one, other] = [await start(), await start()];
  const { status, stdout } = examine(`etcd://${one.endpoints[0]},${other.endpoints[0]}/app`);
  expect(stdout).toMatch(/^FAIL {2}the endpoints belong to 2 clusters: /m);
  expect(status).toBe(1);
});

test('two names of one member are a warning', async () => {
  const cluster = await start();
  const [, port] = cluster.endpoints[0].split(':');
  const { status, stdout } = examine(`etcd://127.0.0.1:${port},localhost:${port}/app`);
  expect(stdout).toMatch(/^WARN {2}2 endpoints are 1 members$/m);
  expect(status).toBe(0);
});

test('users: a wrong password, none, no right to write, none to read', async () => {
  const cluster = await start({ extra: ['--bcrypt-cost', '4'] });
  const control = (...words) => cluster.control(...words);
  await control('user', 'add', 'root:secret', '--interactive=false');
  await control('user', 'grant-role', 'root', 'root');
  for (const [user, right] of [
    ['reader', 'read'],
    ['writer', 'write'],
    ['app', 'readwrite'],
  ]) {
    await control('user', 'add', `${user}:pass`, '--interactive=false');
    await control('role', 'add', user);
    await control('role', 'grant-permission', user, right, 'app/', '--prefix=true');
    await control('user', 'grant-role', user, user);
  }
  await control('auth', 'enable');
  cluster.become(['--user', 'root:secret']);
  const [endpoint] = cluster.endpoints;
  const as = (user, prefix = 'app') => examine(`etcd://${user}${endpoint}/${prefix}`);

  const good = as('app:pass@');
  expect(good.stdout).toMatch(/can be read and written/);
  expect(good.stdout).not.toMatch(/pass@|:pass/); // the password is not shown
  expect(good.status).toBe(0);

  const wrong = as('app:wrong@');
  expect(wrong.stdout).toMatch(/^ok {4}.* is etcd 3/m); // it is not the connection
  expect(wrong.stdout).toMatch(/^FAIL {2}keys below 'app' cannot be read or written: /m);
  expect(wrong.stdout).toMatch(/→ the user or the password is wrong/);

  const noUser = as('');
  expect(noUser.stdout).toMatch(/→ the cluster wants a user/);

  const reader = as('reader:pass@');
  expect(reader.stdout).toMatch(
    /^FAIL {2}keys below 'app' cannot be written: .*permission denied/m,
  );
  expect(reader.stdout).toMatch(
    /→ the user needs both rights: etcdctl role grant-permission ROLE readwrite app\//,
  );

  const writer = as('writer:pass@');
  expect(writer.stdout).toMatch(/^FAIL {2}keys below 'app' cannot be read: .*permission denied/m);

  const elsewhere = as('app:pass@', 'other');
  expect(elsewhere.stdout).toMatch(/^FAIL {2}keys below 'other' cannot be read or written/m);
  for (const { status } of [wrong, noUser, reader, writer, elsewhere]) expect(status).toBe(1);
});

test('a used up quota is a fault, with what to do', async () => {
  const quota = 16 * 2 ** 20;
  const cluster = await start({ extra: ['--quota-backend-bytes', String(quota)] });
  const value = 'x'.repeat(100_000);
  const fill = async () => {
    for (let i = 0; ; i += 1) await cluster.control('put', `junk ${i}`, value);
  };
  await expect(fill()).rejects.toThrow(/space exceeded/);
  const { status, stdout } = examine(cluster.url('app'));
  expect(stdout).toMatch(/^WARN {2}127\.0\.0\.1:\d+: \d+ MiB of 16 MiB are used$/m);
  expect(stdout).toMatch(/^FAIL {2}the cluster has raised the alarm NOSPACE$/m);
  expect(stdout).toMatch(/→ compact and defragment it, then "etcdctl alarm disarm"/);
  expect(status).toBe(1);
});

test('TLS: with the right files; without the authority; without a certificate; one side only', async () => {
  const authority = new Authority(directory);
  for (const name of ['server', 'client']) authority.sign(name);
  const [ca, cert, key] = ['ca.crt', 'client.crt', 'client.key'].map((it) => authority.file(it));
  const cluster = await start({
    extra: [
      ...['--cert-file', authority.file('server.crt'), '--key-file', authority.file('server.key')],
      ...['--client-cert-auth', '--trusted-ca-file', ca],
    ],
    rights: ['--cacert', ca, '--cert', cert, '--key', key],
  });
  const plain = cluster.url('app');
  const encrypted = (words) =>
    examine(`${plain.replace('etcd:', 'etcds:')}?${new URLSearchParams(words)}`);

  const good = encrypted({ ca, cert, key });
  expect(good.stdout).toMatch(/^ok {4}.* MiB of \d+ MiB are used$/m); // over HTTPS, too
  expect(good.stdout).toMatch(/^ok {4}.*: its clock and this one agree/m);
  expect(good.status).toBe(0);

  const untrusted = encrypted({ cert, key });
  expect(untrusted.stdout).toMatch(/→ this machine does not trust the member's certificate/);
  const anonymous = encrypted({ ca });
  expect(anonymous.stdout).toMatch(/^FAIL {2}.* is not reached: /m);
  const unencrypted = examine(plain);
  expect(unencrypted.stdout).toMatch(/→ TLS on one side only\?/);
  const missing = encrypted({ ca: path.join(directory, 'no such file') });
  expect(missing.stdout).toMatch(/^FAIL {2}.*no such file/m);
  for (const { status } of [untrusted, anonymous, unencrypted, missing]) expect(status).toBe(1);
});

const hasFaketime = spawnSync('faketime', ['--version']).error === undefined;

(hasFaketime ? test : test.skip)(
  'a clock that differs is a warning: locks do without',
  async () => {
    const cluster = await start();
    const { status, stdout } = examine(cluster.url(), { launch: ['faketime', '-f', '-1h'] });
    expect(stdout).toMatch(
      /^WARN {2}127\.0\.0\.1:\d+: its clock is 3\d\d\d s ahead of this machine's$/m,
    );
    expect(status).toBe(0);
  },
);

test('a member that is too old is a fault', async () => {
  const { grpc, services } = loadServices();
  const server = new grpc.Server();
  const header = { cluster_id: '1', member_id: '2', revision: '1', raft_term: '1' };
  // The status of an etcd 3.3; no other call is made to it.
  server.addService(services.Maintenance.service, {
    Status: (_, done) => done(null, { header, version: '3.3.27', dbSize: '1', leader: '2' }),
    Alarm: (_, done) => done(null, { header, alarms: [] }),
  });
  const port = await new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  try {
    const program = `require(${JSON.stringify(require.resolve('../../lib/cli/doctor.js'))})
      .checkEtcd('etcd://127.0.0.1:${port}/app').then((it) => console.log(JSON.stringify(it)))`;
    const { execFile } = require('node:child_process');
    const output = await new Promise((resolve, reject) => {
      execFile(process.execPath, ['-e', program], (error, stdout) =>
        error ? reject(error) : resolve(stdout),
      );
    });
    expect(JSON.parse(output)).toContainEqual({
      level: 'fault',
      title: `127.0.0.1:${port} is etcd 3.3.27, the leader: too old`,
      advice: 'holdfast needs 3.4 or later',
    });
  } finally {
    server.forceShutdown();
  }
});

test('a URL that is none is a wrong command line', () => {
  const { status, stderr } = examine('etcd://127.0.0.1/app?tll=10');
  expect(stderr).toMatch(/the parameter 'tll' is unknown/);
  expect(status).toBe(64);
});

test('--pid compares the URLs', async () => {
  const cluster = await start();
  const words = ['--pid', String(process.pid)];
  const { status, stdout } = examine(cluster.url(), { words });
  expect(stdout).toMatch(/^WARN {2}it has no HOLDFAST_URL, other than here$/m);
  expect(stdout).not.toMatch(/lock table/);
  expect(status).toBe(0);
  writeFileSync(path.join(directory, 'program.js'), 'process.stdin.resume(); console.log("up")');
  const { spawn } = require('node:child_process');
  const child = spawn(process.execPath, [path.join(directory, 'program.js')], {
    env: { ...process.env, HOLDFAST_URL: cluster.url() },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  try {
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const same = examine(cluster.url(), { words: ['--pid', String(child.pid)] });
    expect(same.stdout).toMatch(/^ok {4}it has the same HOLDFAST_URL$/m);
    expect(same.status).toBe(0);
  } finally {
    child.kill('SIGKILL');
  }
});
