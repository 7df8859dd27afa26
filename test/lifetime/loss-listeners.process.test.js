'use strict';

const { ProcessBucket } = require('../support/process-bucket.js');

let bucket;
beforeEach(() => {
  bucket = new ProcessBucket();
});
afterEach(() => bucket.close());

/** Holds two locks, both of which are stolen while the holder's event loop is blocked. */
async function loseTwo(/** @type {(node: any) => void} */ subscribe) {
  const actor = await bucket.open('process');
  const requests = [await actor.hold('a'), await actor.hold('b')];
  await actor.run(subscribe);
  await actor.block(); // both thefts come at once
  const releases = [
    await bucket.hold('a', { steal: true }),
    await bucket.hold('b', { steal: true }),
  ];
  actor.go();
  const settled = await Promise.all(requests.map((request) => request.settled));
  for (const release of releases) await release();
  expect(settled.map(({ reason }) => reason.reason)).toEqual(['stolen', 'stolen']);
  expect(await actor.run(() => 'alive')).toBe('alive');
}

/** Inside an actor: closes its lock manager as soon as it is notified of a loss. */
function closeAtFirstLoss({ locks, require }) {
  const { subscribe } = require('node:diagnostics_channel');
  subscribe('locks.request.lost', () => locks.close());
}

/** Inside an actor: replaces the request that was lost. */
function requestAtLoss({ locks, require }) {
  const { subscribe } = require('node:diagnostics_channel');
  subscribe('locks.request.lost', () => locks.request('c', () => {}));
}

/** Inside an actor: waits, and so reads events, as it is notified of a loss. */
function waitAtLoss({ locks, require }) {
  const { subscribe } = require('node:diagnostics_channel');
  subscribe('locks.request.lost', () => locks.requestSync('c', () => {}));
}

test('a listener to a loss may close the manager, and all losses are reported', () =>
  loseTwo(closeAtFirstLoss));

test('a listener to a loss may make a request, and all losses are reported', () =>
  loseTwo(requestAtLoss));

test('a listener to a loss may wait for a lock, and all losses are reported', () =>
  loseTwo(waitAtLoss));
