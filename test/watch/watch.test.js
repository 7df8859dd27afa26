'use strict';

const { SharedMemoryWatch } = require('../../lib/backends/shared-memory/watch.js');

/** A ring that is written faster than it is read. */
const flood = () => ({
  take: () => ['a', 2, 0, 'client', 1, 0, 0, 1, 0, 0, 1],
  arm: () => false,
  pause: () => {},
  usage: () => undefined,
  end: () => {},
  hasNet: true,
});

const MAX_READS = 100_000;

test('a reader that never finds the ring empty lets its event loop turn', async () => {
  const watch = new SharedMemoryWatch(flood());
  let hasTurned = false;
  setImmediate(() => (hasTurned = true));
  let reads = 0;
  while (!hasTurned && reads < MAX_READS) {
    const events = await watch.read(1);
    reads += events.length;
  }
  watch.close();
  expect(hasTurned).toBe(true);
});
