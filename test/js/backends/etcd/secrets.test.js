'use strict';

const { mkdtempSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { toClusterOptions } = require('../../../../lib/backends/etcd/cluster-options.js');
const { Secrets } = require('../../../../lib/backends/etcd/secrets.js');

let directory;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), 'holdfast-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

const fileOf = (name) => path.join(directory, name);
const write = (name, text) => writeFileSync(fileOf(name), text);

/** As that of gRPC: refuses what does not fit together. */
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

function secretsInFiles() {
  for (const name of ['ca', 'key', 'cert']) write(name, `${name} 1`);
  const words = ['ca', 'key', 'cert'].map((name) => `${name}=${fileOf(name)}`);
  return secretsOf(`etcds://a?${words.join('&')}`);
}

test('certificates in files are read anew for each connection', () => {
  const secrets = secretsInFiles();
  expect(secrets.credentials).toBe('ca 1,key 1,cert 1');
  for (const name of ['ca', 'key', 'cert']) write(name, `${name} 2`);
  expect(secrets.credentials).toBe('ca 2,key 2,cert 2');
});

test('in the middle of a renewal the last ones are taken', () => {
  const secrets = secretsInFiles();
  write('key', 'key 2');
  expect(secrets.credentials).toBe('ca 1,key 1,cert 1');
  rmSync(fileOf('cert'));
  expect(secrets.credentials).toBe('ca 1,key 1,cert 1');
  write('cert', 'cert 2');
  expect(secrets.credentials).toBe('ca 1,key 2,cert 2');
});

test('what does not fit together at the beginning is an error', () => {
  write('key', 'key 1');
  expect(() => secretsOf(`etcds://a?key=${fileOf('key')}`, { cert: 'cert 2' })).toThrow('mismatch');
});

test('what is given stays, and without TLS there is nothing to read', () => {
  expect(secretsOf('etcds://a', { ca: 'given' }).credentials).toBe('given,,');
  expect(secretsOf('etcd://a').credentials).toBe('insecure');
});

test('a password in a file is read anew for each token', () => {
  write('password', 'first\n');
  const secrets = secretsOf(`etcd://me@a?passwordFile=${fileOf('password')}`);
  expect(secrets.password).toBe('first');
  write('password', '');
  expect(secrets.password).toBe('first');
  write('password', 'second\n');
  expect(secrets.password).toBe('second');
  rmSync(fileOf('password'));
  expect(secrets.password).toBe('second');
});

test('a password that is given is the one, whatever stands in a file', () => {
  write('password', 'other');
  const url = `etcd://me:in-url@a?passwordFile=${fileOf('password')}`;
  expect(secretsOf(url).password).toBe('in-url');
  expect(secretsOf(url, { password: 'given' }).password).toBe('given');
  expect(secretsOf('etcd://a').password).toBe(undefined);
});
