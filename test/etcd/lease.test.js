'use strict';

let mockSuspendedMs = 0;
jest.mock('../../lib/backends/remote/steady-clock.js', () => {
  const { steadyNow } = jest.requireActual('../../lib/backends/remote/steady-clock.js');
  return { steadyNow: () => steadyNow() + mockSuspendedMs };
});

const { Lease } = require('../../lib/backends/etcd/lease.js');

/** If the answer to a first call was lost, gRPC may send it again: the cluster knows it then. */
test('a lease that the first try finds there is its own', async () => {
  const onEnd = jest.fn();
  const requested = [];
  const calls = {
    first: (attempt) => attempt(0),
    once(service, method, request) {
      requested.push([service, method, request]);
      const details = 'etcdserver: lease already exists';
      return Promise.reject(Object.assign(new Error(details), { details }));
    },
  };
  const lease = new Lease(calls, 60_000, { onTick() {}, onExtended() {}, onLost: onEnd });
  await lease.take();
  expect(requested).toEqual([['Lease', 'LeaseGrant', { TTL: '60', ID: lease.id }]]);
  expect([lease.isTaken, lease.leftMs > 0]).toEqual([true, true]);
  lease.stop();
  expect(onEnd).not.toHaveBeenCalled();
});

test('after a suspension that was longer than the lease it is lost at the next beat', async () => {
  let ticks = 0;
  const calls = {
    first: (attempt) => attempt(0),
    once: async () => {},
    client: { call: () => Promise.reject(new Error('no network')) },
  };
  const ticksAtLoss = await new Promise((resolve) => {
    const onLost = () => {
      lease.stop();
      resolve(ticks);
    };
    const lease = new Lease(calls, 2000, { onTick: () => (ticks += 1), onExtended() {}, onLost });
    lease.take().then(() => (mockSuspendedMs = 60_000));
  });
  expect(ticksAtLoss).toBeLessThan(3); // a thread that stands still has two beats at once
});
