'use strict';

const { loadServices } = require('../../lib/backends/etcd/grpc-library.js');
const { openLockManager } = require('../../lib/index.js');

/** A member that says what it is, and is asked for no more. */
async function startMember(version) {
  const { grpc, services } = loadServices();
  const server = new grpc.Server();
  const header = { cluster_id: '1', member_id: '2', revision: '1', raft_term: '1' };
  server.addService(services.Maintenance.service, {
    Status: (_, done) => done(null, { header, version, dbSize: '1', leader: '2' }),
  });
  const credentials = grpc.ServerCredentials.createInsecure();
  const port = await new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', credentials, (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  return { url: `etcd://127.0.0.1:${port}/app`, stop: () => server.forceShutdown() };
}

test('a request to a cluster that is too old says so', async () => {
  const member = await startMember('3.3.27');
  const locks = openLockManager({ url: member.url });
  try {
    await expect(locks.request('a', () => {})).rejects.toMatchObject({
      name: 'InvalidStateError',
      message: expect.stringMatching(/etcd 3.3.27 is too old: 3.4 is needed$/),
    });
  } finally {
    locks.close();
    member.stop();
  }
});
