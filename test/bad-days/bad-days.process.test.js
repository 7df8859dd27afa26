'use strict';

const { describeBadDays } = require('../support/bad-days-contract.js');
const { PROCESS_BACKENDS } = require('../support/process-backends.js');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { signalBroker, suspendBroker } = require('../support/broker-process.js');
const { ProcessBucket } = require('../support/process-bucket.js');

const HOLDERS = 8;
const SILENCE = 'the broker has not answered';

/**
 * The outcome of a request with a timeout. A broker that stands still for longer than half a second
 * decides nothing: then it is asked again.
 * @param {() => unknown} request
 */
async function outcomeOf(request) {
  for (;;) {
    try {
      return await request();
    } catch ({ name, message }) {
      if (!message.includes(SILENCE)) return name;
    }
  }
}

describeBadDays(['shared memory', 'local', 'broker']);

describe.each(Object.keys(PROCESS_BACKENDS))('over %s', (backend) => {
  let bucket;
  beforeEach(() => {
    bucket = new ProcessBucket({ backend });
  });
  afterEach(() => bucket.close());

  test.each([0, 1])(
    'the lock of a process that has died is free for timeout %d',
    async (timeout) => {
      const opened = Array.from({ length: HOLDERS }, () => bucket.open('process'));
      const actors = await Promise.all(opened);
      await Promise.all(actors.map((actor, at) => actor.hold(`n${at}`)));
      for (const { pid } of actors) process.kill(pid, 'SIGKILL');
      await Promise.all(actors.map(({ ended }) => ended));
      const results = actors.map((_, at) =>
        outcomeOf(() => bucket.locks.request(`n${at}`, { timeout }, () => 'granted')),
      );
      expect(await Promise.all(results)).toEqual(actors.map(() => 'granted'));
    },
  );

  test('ifAvailable gets the lock of a process that has died', async () => {
    const isGranted = (lock) => lock !== null;
    const requests = [
      (name) => bucket.locks.request(name, { ifAvailable: true }, isGranted),
      (name) => bucket.locks.requestSync(name, { ifAvailable: true }, isGranted),
    ];
    for (const request of requests) {
      const actor = await bucket.open('process');
      await actor.hold('a');
      actor.endBy('SIGKILL');
      await actor.ended;
      expect(await request('a')).toBe(true);
    }
  });
});

describe.each(Object.keys(PROCESS_BACKENDS))('requestSync() over %s', (backend) => {
  let bucket;
  beforeEach(() => {
    bucket = new ProcessBucket({ backend });
  });
  afterEach(() => bucket.close());

  test.each([0, 1])('gets the lock of a process that has died with timeout %d', async (timeout) => {
    const opened = Array.from({ length: HOLDERS }, () => bucket.open('process'));
    const actors = await Promise.all(opened);
    await Promise.all(actors.map((actor, at) => actor.hold(`n${at}`)));
    for (const { pid } of actors) process.kill(pid, 'SIGKILL');
    await Promise.all(actors.map(({ ended }) => ended));
    for (const at of actors.keys()) {
      const makeRequest = () => bucket.locks.requestSync(`n${at}`, { timeout }, () => 'granted');
      expect(await outcomeOf(makeRequest)).toBe('granted');
    }
  });
});

describe('a stopped broker', () => {
  const SILENT = expect.stringContaining(SILENCE);
  let bucket;
  let files;
  beforeEach(async () => {
    bucket = new ProcessBucket({ backend: 'broker' });
    await bucket.locks.query();
    files = new BrokerFiles('process', bucket.directory);
  });
  afterEach(() => bucket.close()); // kills it

  const thrownBy = (body) => {
    try {
      return body();
    } catch ({ name, message }) {
      return { name, message };
    }
  };

  test('that continues notices a death before the requests made after it', async () => {
    const actor = await bucket.open('process');
    await actor.hold('a');
    suspendBroker(files);
    actor.endBy('SIGKILL');
    await actor.ended;
    const isGranted = bucket.locks.request('a', { ifAvailable: true }, (lock) => lock !== null);
    await new Promise((resolve) => setImmediate(resolve)); // the kernel has the request
    signalBroker(files, 'SIGCONT');
    expect(await isGranted).toBe(true);
  });

  test('isLocked() throws', () => {
    suspendBroker(files);
    const thrown = thrownBy(() => bucket.locks.isLocked('a'));
    expect(thrown).toEqual({ name: 'InvalidStateError', message: SILENT });
  });

  test('a timeout ends the wait, and says why', async () => {
    suspendBroker(files);
    const waiting = bucket.locks.request('a', { timeout: 100 }, () => {});
    const { name, message } = await waiting.catch((error) => error);
    expect({ name, message }).toEqual({ name: 'TimeoutError', message: SILENT });
  });

  test('requestSync() with a timeout throws, and says why', () => {
    suspendBroker(files);
    const thrown = thrownBy(() => bucket.locks.requestSync('a', { timeout: 100 }, () => {}));
    expect(thrown).toEqual({ name: 'TimeoutError', message: SILENT });
  });

  test('requestSync() without a timeout throws, and leaves no request', async () => {
    suspendBroker(files);
    const thrown = thrownBy(() => bucket.locks.requestSync('a', () => {}));
    expect(thrown).toEqual({ name: 'InvalidStateError', message: SILENT });
    signalBroker(files, 'SIGCONT');
    await bucket.isClean();
  });

  test('requestSync() throws where its release has no answer, and releases', async () => {
    const stop = () => suspendBroker(files);
    const thrown = thrownBy(() => bucket.locks.requestSync('a', stop));
    expect(thrown).toEqual({ name: 'InvalidStateError', message: SILENT });
    signalBroker(files, 'SIGCONT');
    await bucket.isClean();
  });

  test('requestSync() waits longer for a lock than for an answer', async () => {
    const actor = await bucket.open('process');
    await actor.hold('a', { holdLimit: 11_000 });
    expect(bucket.locks.requestSync('a', () => 'inside')).toBe('inside');
  });
});
