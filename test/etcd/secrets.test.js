'use strict';

const { mkdtempSync, realpathSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { toClusterOptions } = require('../../lib/backends/etcd/cluster-options.js');
const { Secrets } = require('../../lib/backends/etcd/etcd-client.js');

let directory;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'holdfast-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const fileOf = (name) => path.join(directory, name);
const write = (name, text) => writeFileSync(fileOf(name), text);

/** As gRPC's library: refuses a key and a certificate that do not fit together. */
const library = {
  grpc: {
    credentials: {
      createInsecure: () => 'insecure',
      createSsl(...given) {
        const texts = given.map((bytes) => bytes && String(bytes));
        if (texts[1]?.slice(-1) !== texts[2]?.slice(-1)) throw new Error('key values mismatch');
        return texts.join();
      },
    },
  },
};

const secretsOf = (url, options) => new Secrets(toClusterOptions(url, options), library);

const PEM_END = '-----END ';
const writePem = (name, number) => write(name, `${PEM_END}${name} ${number}`);

function secretsInFiles() {
  for (const name of ['ca', 'key', 'cert']) writePem(name, 1);
  const words = ['ca', 'key', 'cert'].map((name) => `${name}=${fileOf(name)}`);
  return secretsOf(`etcds://a?${words.join('&')}`);
}

/**
 * The credentials of connections until they get `expected`, each after a while; without the marks
 * of PEM.
 */
async function credentialsUntil(secrets, expected) {
  const seen = new Set();
  while (!seen.has(expected)) {
    seen.add(secrets.credentials.replaceAll(PEM_END, ''));
    await new Promise(setImmediate);
  }
  return [...seen];
}

test('certificates in files are read anew', async () => {
  const secrets = secretsInFiles();
  for (const name of ['ca', 'key', 'cert']) writePem(name, 2);
  expect(await credentialsUntil(secrets, 'ca 2,key 2,cert 2')).toEqual([
    'ca 1,key 1,cert 1',
    'ca 2,key 2,cert 2',
  ]);
});

test('in the middle of a renewal the last ones are taken', async () => {
  const secrets = secretsInFiles();
  const half = [
    () => writePem('key', 2), // does not fit the certificate
    () => rmSync(fileOf('cert')),
    () => write('ca', 'cut off'),
    () => writePem('cert', 2),
  ];
  for (const change of half) {
    change();
    for (let i = 0; i < 100; i += 1) {
      expect(secrets.credentials).toBe('ca 1,key 1,cert 1'.replace(/(?=ca|key|cert)/g, PEM_END));
      await new Promise(setImmediate);
    }
  }
  writePem('ca', 2);
  await credentialsUntil(secrets, 'ca 2,key 2,cert 2');
});

test('files that are away when the thread of the session begins were read before', () => {
  for (const name of ['key', 'cert']) writePem(name, 1);
  const words = ['key', 'cert'].map((name) => `${name}=${fileOf(name)}`);
  const options = toClusterOptions(`etcds://a?${words.join('&')}`);
  for (const name of ['key', 'cert']) rmSync(fileOf(name));
  const { credentials } = new Secrets(options, library);
  expect(credentials.replaceAll(PEM_END, '')).toBe(',key 1,cert 1');
});

test('names of files are relative to the folder that the URL was read in', () => {
  writePem('ca', 1);
  const before = process.cwd();
  process.chdir(directory);
  const { files } = toClusterOptions('etcds://a?ca=ca');
  process.chdir(before);
  expect(files.ca).toBe(path.join(realpathSync(directory), 'ca'));
});

test('files that do not fit together at the beginning are an error', () => {
  write('key', 'key 1');
  expect(() => secretsOf(`etcds://a?key=${fileOf('key')}`, { cert: 'cert 2' })).toThrow('mismatch');
});

test('given secrets stay, and without TLS there is nothing to read', () => {
  expect(secretsOf('etcds://a', { ca: 'given' }).credentials).toBe('given,,');
  expect(secretsOf('etcd://a').credentials).toBe('insecure');
});

test('a password in a file is read anew for each token', async () => {
  write('password', 'first\n');
  const secrets = secretsOf(`etcd://me@a?passwordFile=${fileOf('password')}`);
  expect(await secrets.readPassword()).toBe('first');
  write('password', '');
  expect(await secrets.readPassword()).toBe('first');
  write('password', 'second\n');
  expect(await secrets.readPassword()).toBe('second');
  rmSync(fileOf('password'));
  expect(await secrets.readPassword()).toBe('second');
});

test('a password that is given is the one, whatever stands in a file', async () => {
  write('password', 'other');
  const url = `etcd://me:in-url@a?passwordFile=${fileOf('password')}`;
  expect(await secretsOf(url).readPassword()).toBe('in-url');
  expect(await secretsOf(url, { password: 'given' }).readPassword()).toBe('given');
  expect(await secretsOf('etcd://a').readPassword()).toBe(undefined);
});
