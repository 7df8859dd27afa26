'use strict';

jest.mock('../../lib/backends/etcd/connection.js', () => ({
  Connection: class {
    constructor(library, credentials, endpoint) {
      this.endpoint = endpoint;
    }

    async call({ method, metadata }) {
      const [token] = metadata.get('token');
      mockCalls.push([this.endpoint, method]);
      if (method === 'Authenticate') return { token: `token ${mockCalls.length}` };
      return mockAnswer(this.endpoint, token);
    }

    leave() {}
    close() {}
  },
}));
jest.mock('../../lib/backends/remote/steady-clock.js', () => ({ steadyNow: () => mockNow }));

const { EtcdClient } = require('../../lib/backends/etcd/etcd-client.js');
const { toClusterOptions } = require('../../lib/backends/etcd/cluster-options.js');
const { EtcdError } = require('../../lib/backends/etcd/etcd-errors.js');

const TTL_MS = 10_000;

let mockCalls;
let mockAnswer;
let mockNow;
beforeEach(() => {
  mockCalls = [];
  mockNow = 0;
});

const stale = (endpoint) => new EtcdError(16, 'etcdserver: invalid auth token', endpoint);
const open = (hosts) => new EtcdClient(toClusterOptions(`etcd://me:secret@${hosts}?ttl=10`));
const read = (client) => client.call('KV', 'Range', {}, TTL_MS);
const authentications = () => mockCalls.filter(([, method]) => method === 'Authenticate').length;

test('a token that has become invalid is renewed, once', async () => {
  const client = open('a');
  mockAnswer = (endpoint, token) => {
    if (token === 'token 1') throw stale(endpoint);
    return 'answer';
  };
  expect(await read(client)).toBe('answer');
  expect(authentications()).toBe(2);
});

test('a member that refuses new tokens, too, is left for another one', async () => {
  const client = open('a,b');
  const first = client.endpoint;
  mockAnswer = (endpoint) => {
    if (endpoint === first) throw stale(endpoint);
    return 'answer';
  };
  await expect(read(client)).rejects.toMatchObject({ isFinal: false });
  expect(await read(client)).toBe('answer');
  expect(client.endpoint).not.toBe(first);
});

test('if all refuse them that is final, after the time of a lease', async () => {
  const client = open('a');
  mockAnswer = (endpoint) => {
    throw stale(endpoint);
  };
  await expect(read(client)).rejects.toMatchObject({ isFinal: false });
  mockNow = TTL_MS;
  await expect(read(client)).rejects.toMatchObject({ isFinal: false });
  mockNow = TTL_MS + 1;
  await expect(read(client)).rejects.toMatchObject({ isFinal: true });
  mockAnswer = () => 'answer';
  expect(await read(client)).toBe('answer');
  mockAnswer = (endpoint) => {
    throw stale(endpoint);
  };
  await expect(read(client)).rejects.toMatchObject({ isFinal: false }); // it begins anew
});
