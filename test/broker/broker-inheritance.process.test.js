'use strict';

const { once } = require('node:events');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { platformOf } = require('../../lib/backends/broker/platform.js');
const { killBroker, suspendBroker } = require('../support/broker-process.js');
const { ProcessBucket } = require('../support/process-bucket.js');

// A broker is followed by another one while a holder inherits a priority: the next broker reports
// to it what has changed in between.

const testWithStops = platformOf().hasStopSignals ? test : test.skip;

const BACKGROUND = { priority: 'background' };
const URGENT = { priority: 'user-blocking' };
const REPORTED = { reportsPriority: true };

let bucket;
let files;
let holder;
let waiter;
beforeEach(async () => {
  bucket = new ProcessBucket({ backend: 'broker' });
  files = new BrokerFiles('process', bucket.directory);
  [holder, waiter] = await Promise.all([bucket.open('thread'), bucket.open('process')]);
});
afterEach(() => bucket.close());

/** A holder whose lock has the priority of a request that waits. */
async function inherit(options = URGENT, flags = { isAbortable: true }) {
  const held = await holder.hold('a', BACKGROUND, REPORTED);
  const waiting = await waiter.request('a', options, flags);
  await held.hasPriority('user-blocking');
  return { held, waiting };
}

/** The broker is killed, and the holder has got the next one. */
async function replaceBroker() {
  killBroker(files);
  await holder.query();
}

async function endAll(...requests) {
  for (const request of requests) {
    await request.granted;
    await request.release();
  }
}

test('the next broker reports that a more urgent request waits', async () => {
  const held = await holder.hold('a', BACKGROUND, REPORTED);
  await held.hasPriority('background');
  await holder.query(); // the broker has read that the lock is watched
  killBroker(files);
  const waiting = await waiter.request('a', URGENT);
  await held.hasPriority('user-blocking');
  await endAll(held, waiting);
});

test('a priority is kept over the death of the broker', async () => {
  const { locks } = bucket;
  const lock = await locks.acquire('a', BACKGROUND);
  const { signal } = lock;
  const priorities = [];
  signal.addEventListener('prioritychange', () => priorities.push(signal.priority));
  const rise = once(signal, 'prioritychange');
  const waiting = await waiter.request('a', URGENT, { isAbortable: true });
  await rise;
  killBroker(files);
  await locks.query();
  const fall = once(signal, 'prioritychange');
  await waiting.abort();
  await fall;
  expect(priorities).toEqual(['user-blocking', 'background']);
  await lock.release();
});

test('the next broker reports that the request has left', async () => {
  const { held, waiting } = await inherit();
  killBroker(files);
  await waiting.abort();
  await held.hasPriority('background');
  await endAll(held);
});

test('the next broker reports a priority that changed', async () => {
  const { held, waiting } = await inherit({}, URGENT);
  killBroker(files);
  await waiting.setPriority('user-visible');
  await held.hasPriority('user-visible');
  await endAll(held, waiting);
});

testWithStops('the next broker reports that the client of the request died before it', async () => {
  const { held } = await inherit();
  suspendBroker(files); // it does not notice
  await waiter.end();
  killBroker(files);
  await held.hasPriority('background');
  await endAll(held);
});

test('the next broker reports that the client of the request dies', async () => {
  const { held } = await inherit();
  await replaceBroker();
  await waiter.end();
  await held.hasPriority('background');
  await endAll(held);
});

test('a holder that inherits nothing any more inherits from the next request', async () => {
  const { held, waiting } = await inherit();
  await replaceBroker();
  await waiting.abort();
  await held.hasPriority('background');
  await replaceBroker();
  const next = await waiter.request('a');
  await held.hasPriority('user-visible');
  await endAll(held, next);
});

test('an event of the next broker has the priority and the overtakes of its request', async () => {
  const held = await holder.hold('a');
  const low = await waiter.request('a', BACKGROUND);
  const others = [await waiter.request('a'), await waiter.request('a', URGENT)];
  await waiter.query(); // the broker has read that
  await replaceBroker();
  const events = bucket.locks.watch('a');
  await bucket.locks.query();
  await endAll(held, ...others.reverse(), low);
  const granted = [];
  for await (const { type, priority, overtakes } of events) {
    if (type === 'granted') granted.push([priority, overtakes]);
    if (granted.length === 3) break;
  }
  expect(granted).toEqual([
    ['user-blocking', 0],
    ['user-visible', 1],
    ['background', 2],
  ]);
});
