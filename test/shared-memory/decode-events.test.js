'use strict';

const { toLockEvents } = require('../../lib/backends/shared-memory/watch.js');
const { loadBinding } = require('../../lib/binding.js');

const GRANTED = ['a', 2, 0, 'client', 7, 3, 1, 5, 1_000, 0, 8, 0, 16];
const QUEUED = ['b', 1, 1, 'other', 0, 0, 0, 0, 2_000, 12, 9, 2, 0];

test('thirteen values are an event', () => {
  expect(toLockEvents([...GRANTED, ...QUEUED])).toEqual([
    {
      type: 'granted',
      name: 'a',
      mode: 'exclusive',
      clientId: 'client',
      pid: 7,
      threadId: 3,
      token: 2n ** 32n + 5n,
      time: 1_000,
      lost: 0,
      priority: 'background',
      overtakes: 16,
      requestId: 8,
    },
    {
      type: 'queued',
      name: 'b',
      mode: 'shared',
      clientId: 'other',
      pid: 0,
      threadId: 0,
      token: null,
      time: 2_000,
      lost: 12,
      priority: 'user-blocking',
      overtakes: 0,
      requestId: 9,
    },
  ]);
  expect(loadBinding().WATCH_EVENT_FIELDS).toBe(GRANTED.length);
});
