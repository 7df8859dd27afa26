'use strict';

// The cost of statistics in a busy bucket: a bounded number of events, not one for each request.

const { closeSync, openSync, readSync } = require('node:fs');
const { join } = require('node:path');
const { LockMonitor } = require('../../lib/cli/lock-monitor.js');
const { LockMetrics } = require('../../lib/metrics/index.js');
const { ProcessBucket, untilEqual } = require('../support/process-bucket.js');

const REQUESTS = 20_000;
const MAX_IN_WINDOW = 5_000;
const BATCH = 500;
/** The index, in the header, of the newest number of the watch ring. */
const LAST_ENTRY_AT = 192;

let bucket;
beforeEach(() => {
  bucket = new ProcessBucket();
});
afterEach(() => bucket.close());

function eventsWritten() {
  const file = openSync(join(bucket.directory, 'process', 'segment'), 'r');
  const word = Buffer.alloc(8);
  readSync(file, word, 0, word.length, LAST_ENTRY_AT);
  closeSync(file);
  return Number(word.readBigUInt64LE());
}

/** Many requests, between which the statistics get their turn. */
async function beBusy(name = 'busy') {
  for (let i = 0; i < REQUESTS / BATCH; i += 1) {
    for (let n = 0; n < BATCH; n += 1) await bucket.locks.request(name, () => {});
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const nextTurns = () => new Promise((resolve) => setTimeout(resolve, 100));

describe('metrics of a busy bucket', () => {
  let metrics;
  beforeEach(async () => {
    metrics = new LockMetrics({ manager: bucket.locks, names: true });
    await metrics.collect();
  });
  afterEach(() => metrics.close());

  test('count each grant, and record few', async () => {
    await beBusy();
    const { grants, releases, waitSeconds, names } = await metrics.collect();
    expect({ grants, releases }).toEqual({ grants: REQUESTS, releases: REQUESTS });
    expect(eventsWritten()).toBeLessThan(REQUESTS); // of two for each
    expect(waitSeconds.count).toBeGreaterThanOrEqual(MAX_IN_WINDOW / 2);
    expect(waitSeconds.count).toBeLessThan(REQUESTS);
    // All were of this name, so that its estimate is what there was.
    expect(Math.abs(names.busy.grants - REQUESTS)).toBeLessThanOrEqual(1);
    expect(names.busy.releases).toBeLessThanOrEqual(names.busy.grants);
  });

  test('count each loss, each timeout and each death, also of who came since', async () => {
    const first = await bucket.open('process');
    await first.hold('of the first');
    await beBusy();
    await nextTurns();
    const written = eventsWritten();
    await bucket.locks.request('unrecorded', () => {});
    expect(eventsWritten()).toBe(written);
    const stolen = bucket.locks.request('s', () => new Promise(() => {})).catch(() => {});
    await bucket.locks.request('s', { steal: true }, () => stolen);
    await bucket.locks.request('t', () =>
      bucket.locks.request('t', { timeout: 1 }, () => {}).catch(() => {}),
    );
    await bucket.locks.request('e', { holdLimit: 1 }, () => new Promise(() => {})).catch(() => {});
    first.endBy('SIGKILL');
    const second = await bucket.open('process');
    const held = await second.hold('of the second');
    await held.granted;
    second.endBy('SIGKILL');
    // A newcomer reaps processes that died while none waited or watched.
    await untilEqual(
      async () => {
        await bucket.receiveNewcomer();
        const { steals, timeouts, expiries, deaths } = await metrics.collect();
        return { steals, timeouts, expiries, deaths };
      },
      { steals: 1, timeouts: 1, expiries: 1, deaths: 2 },
    );
  });
});

/** Holds of at least 50 ms. */
function countLong({ holds: { bounds, counts } }) {
  const long = counts.filter((_, at) => at > 0 && bounds[at - 1] >= 0.05);
  return long.reduce((sum, count) => sum + count, 0);
}

describe('the monitor of a busy bucket', () => {
  let monitor;
  beforeEach(async () => {
    monitor = new LockMonitor(bucket.locks);
    await monitor.start();
    await monitor.view();
  });
  afterEach(() => monitor.close());

  test('gives all grants, and rates of names from a sample, and says so', async () => {
    await beBusy();
    const view = await monitor.view();
    expect(view.counts.grants).toBe(REQUESTS);
    expect(view.isSampled).toBe(true);
    const { rate } = view.names.find(({ name }) => name === 'busy');
    expect(rate / view.rates.grants).toBeCloseTo(1);
    expect(eventsWritten()).toBeLessThan(REQUESTS);
  });

  test('gives rates of names in every view, also right after a window has begun', async () => {
    for (let view = 0; view < 5; view += 1) {
      await beBusy();
      const { names, rates } = await monitor.view();
      const { rate } = names.find(({ name }) => name === 'busy');
      expect(rate / rates.grants).toBeCloseTo(1);
    }
  });

  test('records each request again once they are few', async () => {
    await beBusy();
    await monitor.view();
    await nextTurns();
    await monitor.view();
    const before = eventsWritten();
    await bucket.locks.request('few', () => {});
    expect(eventsWritten()).toBe(before + 2);
    await nextTurns();
    const view = await monitor.view();
    expect(view.isSampled).toBe(false);
    expect(view.names.find(({ name }) => name === 'few').rate).toBeGreaterThan(0);
  });

  test('times a hold from its beginning, which was not recorded', async () => {
    await beBusy();
    await nextTurns();
    const release = await bucket.hold('long');
    await new Promise((resolve) => setTimeout(resolve, 60));
    const before = countLong(await monitor.view()); // a new window, which begins with what is held
    await release();
    await nextTurns();
    expect(countLong(await monitor.view()) - before).toBe(1);
  });
});
