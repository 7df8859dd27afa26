'use strict';

const { ProcessBucket } = require('../support/process-bucket.js');

let bucket;
beforeEach(() => {
  bucket = new ProcessBucket();
});
afterEach(() => bucket.close());

/** Inside an actor: closes its lock manager as soon as it hears of a loss. */
function closeAtFirstLoss({ locks, require }) {
  const { subscribe } = require('node:diagnostics_channel');
  subscribe('locks.request.lost', () => locks.close());
}

test('whoever is told something may close the manager while there is more to tell', async () => {
  const actor = await bucket.open('process');
  const requests = [await actor.hold('a'), await actor.hold('b')];
  await actor.run(closeAtFirstLoss);
  await actor.block(); // both thefts come at once
  const releases = [
    await bucket.hold('a', { steal: true }),
    await bucket.hold('b', { steal: true }),
  ];
  actor.go();
  const settled = await Promise.all(requests.map((request) => request.settled));
  const reasons = settled.map(({ reason }) => reason.reason);
  expect(reasons.sort()).toEqual(['disconnected', 'stolen']);
  expect(await actor.run(() => 'alive')).toBe('alive');
  for (const release of releases) await release();
});
