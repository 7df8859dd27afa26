'use strict';

const { toLockDetails, toLockInfos } = require('../../lib/backends/shared-memory/snapshot.js');

const HELD = [
  'a',
  0,
  'client',
  7,
  2,
  1,
  5,
  'why',
  0,
  60_000,
  1_000,
  1_200,
  9,
  0,
  0,
  'job.js:7:9',
  2,
  3,
];
const PENDING = ['b', 1, 'client', 0, 0, 0, 0, '', 3, 0, 1_500, 0, 4, 1, 5, '', 0, 4];

test('three values are a lock', () => {
  expect(toLockInfos(['a', 0, 'x', 'b', 1, 'y'])).toEqual([
    { name: 'a', mode: 'exclusive', clientId: 'x' },
    { name: 'b', mode: 'shared', clientId: 'y' },
  ]);
});

test('a held lock has a token, and times of waiting and of holding', () => {
  expect(toLockDetails(HELD, 2_000)).toEqual([
    {
      name: 'a',
      mode: 'exclusive',
      clientId: 'client',
      pid: 7,
      threadId: 2,
      token: 2n ** 32n + 5n,
      label: 'why',
      limit: 0,
      holdLimit: 60_000,
      since: 1_000,
      waited: 200,
      held: 800,
      requestId: 9,
      enclosingToken: null,
      callSite: 'job.js:7:9',
      priority: 'user-blocking',
      overtakes: 0,
    },
  ]);
});

test('a pending request waits until now', () => {
  expect(toLockDetails(PENDING, 2_000)).toMatchObject([
    {
      limit: 3,
      token: null,
      since: 1_500,
      waited: 500,
      held: null,
      requestId: 4,
      overtakes: 4,
      priority: 'background',
    },
  ]);
});

test('no time is negative when the clock was set back', () => {
  expect(toLockDetails([...HELD, ...PENDING], 500)).toMatchObject([
    { waited: 200, held: 0 },
    { waited: 0, held: null },
  ]);
});
