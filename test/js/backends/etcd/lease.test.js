'use strict';

const { Lease } = require('../../../../lib/backends/etcd/lease.js');

/** Where the answer to a first call was lost, gRPC may send it again: the cluster knows it then. */
test('a lease that the first try finds there is its own', async () => {
  const tellEnd = jest.fn();
  const asked = [];
  const calls = {
    first: (attempt) => attempt(0),
    once(service, method, request) {
      asked.push([service, method, request]);
      const details = 'etcdserver: lease already exists';
      return Promise.reject(Object.assign(new Error(details), { details }));
    },
  };
  const lease = new Lease(calls, 60_000, { onTick() {}, onLost: tellEnd });
  await lease.take();
  expect(asked).toEqual([['Lease', 'LeaseGrant', { TTL: '60', ID: lease.id }]]);
  expect([lease.isTaken, lease.leftMs > 0]).toEqual([true, true]);
  lease.stop();
  expect(tellEnd).not.toHaveBeenCalled();
});
