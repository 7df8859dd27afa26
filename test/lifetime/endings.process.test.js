'use strict';

const { ENDINGS } = require('../support/process-endings.js');
const { ProcessBucket } = require('../support/process-bucket.js');
const { Timings } = require('../support/process-timings.js');

const timings = new Timings('From the order to end until the grant (a process | a thread waits):');

let bucket;
let waiters;
beforeAll(async () => {
  bucket = new ProcessBucket();
  waiters = await Promise.all([bucket.open('process'), bucket.open('thread')]);
});
afterAll(async () => {
  timings.print();
  await bucket.close();
});
// The claim of the tests: nothing of the ended process or thread is left.
afterEach(() => bucket.isClean({ processes: 1, threads: 1 }));

// Each waiter is the only waiter behind the ended process or thread, so each has to notice alone.
const NAMES = ['waited for by a process', 'waited for by a thread'];

const requestAll = (client, options) =>
  Promise.all(NAMES.map((name) => client.request(name, options)));
const requestAsWaiters = (options) =>
  Promise.all(NAMES.map((name, i) => waiters[i].request(name, options)));

async function grantAndRelease(request) {
  const lock = await request.granted;
  await request.release();
  return lock;
}

/** Ends the victim and waits until both waiters have had the lock; gives their tokens. */
async function endAndMeasure({ victim, how, isBlocked, waiting, label }) {
  const time = victim.endBy(how, { isBlocked });
  const grants = await Promise.all(waiting.map(grantAndRelease));
  grants.forEach(({ at }, i) => timings.add(`${label} | ${NAMES[i]}`, time, at));
  return grants.map(({ token }) => token);
}

describe.each(Object.keys(ENDINGS))('a %s', (hostKind) => {
  let victim;
  let clientId;
  beforeEach(async () => {
    victim = bucket.start(hostKind);
    clientId = await victim.clientId();
  });
  afterEach(() => victim.end());

  describe.each(ENDINGS[hostKind])('that ends by %s', (how, outcome) => {
    const label = (state) => `${hostKind}, ${how}, ${state}`;

    test('gives up what it holds', async () => {
      const held = await requestAll(victim);
      const tokens = (await Promise.all(held.map(({ granted }) => granted))).map((l) => l.token);
      const waiting = await requestAsWaiters();
      const later = await endAndMeasure({ victim, how, waiting, label: label('holding') });
      later.forEach((token, i) => expect(token).toBeGreaterThan(tokens[i]));
      expect(await victim.ended).toBe(outcome);
    });

    // A pending request keeps the event loop alive: there is no natural end while it waits.
    if (how !== 'its natural end') {
      test('takes back what it waits for', async () => {
        const releases = await Promise.all(
          NAMES.map((name) => bucket.hold(name, { mode: 'shared' })),
        );
        await requestAll(victim);
        const waiting = await requestAsWaiters({ mode: 'shared' });
        await endAndMeasure({ victim, how, waiting, label: label('queued') });
        expect(await victim.ended).toBe(outcome);
        await Promise.all(releases.map((release) => release()));
      });
    }

    test('gives up a grant that it has not received yet', async () => {
      const releases = await Promise.all(NAMES.map((name) => bucket.hold(name)));
      const requests = await requestAll(victim);
      let isNotified = false;
      for (const { granted } of requests) granted.then(() => (isNotified = true));
      await victim.blockUntilItEnds(how);
      const waiting = await requestAsWaiters();
      await Promise.all(releases.map((release) => release()));
      const { held } = await bucket.locks.query();
      expect(held.map((lock) => lock.clientId)).toEqual([clientId, clientId]);
      expect(isNotified).toBe(false);
      await endAndMeasure({ victim, how, isBlocked: true, waiting, label: label('on its way') });
      expect(await victim.ended).toBe(outcome);
      expect(isNotified).toBe(false);
    });
  });
});
