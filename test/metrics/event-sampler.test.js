'use strict';

const { EventSampler } = require('../../lib/metrics/event-sampler.js');

const MAX_IN_WINDOW = 5_000;
const nothing = { held: [], pending: [] };
const inspect = async () => nothing;

/** A watch whose events the test gives. */
class FakeWatch {
  token = 1n << 32n;
  calls = [];
  waiting = [];
  #answer;

  read() {
    return new Promise((resolve) => (this.#answer = resolve));
  }

  /** Resolves when the sampler asks for more. */
  async give(events) {
    this.#answer(events);
    await new Promise((resolve) => setImmediate(resolve));
  }

  pause(isPaused) {
    this.calls.push(isPaused ? 'pause' : 'continue');
  }

  drain() {
    return this.waiting.splice(0);
  }

  newestToken() {
    return this.token;
  }

  close() {
    this.#answer?.([]);
  }
}

let watch;
let sampler;
let seen;
const eventsOf = (count) => Array.from({ length: count }, (_, at) => ({ at }));

beforeEach(() => {
  watch = new FakeWatch();
  seen = { seeds: 0, followed: 0, recorded: 0 };
  sampler = new EventSampler(
    { watch: () => watch },
    {
      seed: () => (seen.seeds += 1),
      follow: () => (seen.followed += 1),
      record: () => (seen.recorded += 1),
    },
  );
  sampler.start(nothing);
});
afterEach(() => sampler.close());

test('few events are all recorded, window after window', async () => {
  for (let window = 0; window < 3; window += 1) {
    await watch.give(eventsOf(MAX_IN_WINDOW - 1));
    await sampler.next(inspect);
  }
  expect(watch.calls).toEqual([]);
  expect(seen).toEqual({ seeds: 1, followed: 0, recorded: 3 * (MAX_IN_WINDOW - 1) });
  expect(sampler.take().isSample).toBe(false);
});

test('few events are all recorded where windows are only renewed', async () => {
  for (let window = 0; window < 3; window += 1) {
    await watch.give(eventsOf(MAX_IN_WINDOW - 1));
    sampler.renew();
  }
  expect(watch.calls).toEqual([]);
});

test('a window that is renewed does not end a pause', async () => {
  await watch.give(eventsOf(MAX_IN_WINDOW));
  sampler.renew();
  expect(sampler.isPaused).toBe(true);
});

test('too many in one window pause the watch until the next', async () => {
  await watch.give(eventsOf(MAX_IN_WINDOW));
  expect(watch.calls).toEqual(['pause']);
  expect(sampler.isPaused).toBe(true);
  await sampler.next(inspect);
  expect(watch.calls).toEqual(['pause', 'continue']);
  expect(sampler.isPaused).toBe(false);
});

test('a loss ends a window: what it hid would give wrong times', async () => {
  await watch.give([
    { at: 0, lost: 0 },
    { at: 1, lost: 7 },
  ]);
  expect(watch.calls).toEqual(['pause']);
  expect(sampler.take().isSample).toBe(true);
});

test('incidents are recorded while it pauses', async () => {
  await watch.give(eventsOf(MAX_IN_WINDOW));
  await watch.give(eventsOf(1));
  expect(seen.recorded).toBe(MAX_IN_WINDOW + 1);
  expect(watch.calls).toEqual(['pause']);
});

test('events before the picture of a window are followed and not counted', async () => {
  await watch.give(eventsOf(MAX_IN_WINDOW));
  watch.waiting = eventsOf(7);
  await sampler.next(async () => {
    await watch.give(eventsOf(3));
    return nothing;
  });
  expect(seen).toEqual({ seeds: 2, followed: 10, recorded: MAX_IN_WINDOW });
  await watch.give(eventsOf(2));
  expect(seen.recorded).toBe(MAX_IN_WINDOW + 2);
});

test('grants are counted by tokens, and a gap makes the events a sample', async () => {
  watch.token += 10n;
  expect(sampler.take()).toEqual({ grants: 10, isSample: false });
  await watch.give(eventsOf(MAX_IN_WINDOW));
  watch.token += 1_000_000n;
  expect(sampler.take()).toEqual({ grants: 1_000_000, isSample: true });
  expect(sampler.take()).toEqual({ grants: 0, isSample: true }); // it still pauses
  await sampler.next(inspect);
  expect(sampler.take().isSample).toBe(true);
  expect(sampler.take().isSample).toBe(false);
});

test('a token that jumps, which only corruption makes it do, is no count', () => {
  watch.token += 10n ** 15n;
  expect(sampler.take().grants).toBe(undefined);
  watch.token -= 1n;
  expect(sampler.take().grants).toBe(undefined);
});

test('a failed picture leaves it paused, for another try', async () => {
  await watch.give(eventsOf(MAX_IN_WINDOW));
  await expect(sampler.next(() => Promise.reject(new Error('busy')))).rejects.toThrow('busy');
  expect(sampler.isPaused).toBe(true);
  await sampler.next(inspect);
  expect(sampler.isPaused).toBe(false);
});
