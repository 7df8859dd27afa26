'use strict';

const { QueuedWatch } = require('../../lib/backends/queued-watch.js');

const MAX_EVENTS = 4096;

test('an event that is dropped counts, with those that were lost before it', async () => {
  const watch = new QueuedWatch(() => {});
  watch.take([{ type: 'granted', lost: 5 }]);
  watch.take(Array.from({ length: MAX_EVENTS }, () => ({ type: 'released', lost: 0 })));
  const [first, second] = await watch.read(2);
  expect([first.lost, second.lost]).toEqual([6, 0]);
});
