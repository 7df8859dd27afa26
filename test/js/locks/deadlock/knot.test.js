'use strict';

const { findActors, shapeOf } = require('../../../../lib/locks/deadlock/knot.js');
const { runAtOnce } = require('../../../../lib/sliced.js');

const request = (requestId, members = {}) => ({
  ...{ token: null, clientId: 'c', requestId, since: 1000 + requestId, deadlock: undefined },
  ...members,
});
const lock = (token) => ({ token, clientId: 'c', requestId: 1, since: 1 });

describe('findActors()', () => {
  const actorsOf = (knot, isAwaited = () => true) => {
    const { rejected, warning } = runAtOnce(findActors(knot, isAwaited));
    return [rejected?.requestId, warning?.requestId];
  };

  test('names the last one that is to be rejected, and the last one that does not ignore', () => {
    const knot = [
      request(4, { deadlock: 'ignore' }),
      request(2, { deadlock: 'reject' }),
      request(3),
      request(1, { deadlock: 'reject' }),
    ];
    expect(actorsOf(knot)).toEqual([2, 3]);
  });

  test('passes over those whose end would let none go on', () => {
    const knot = [request(1, { deadlock: 'reject' }), request(2, { deadlock: 'reject' })];
    expect(actorsOf(knot, ({ requestId }) => requestId !== 2)).toEqual([1, 1]);
    expect(actorsOf(knot, () => false)).toEqual([undefined, undefined]);
  });

  test('is the same for all agents, also for requests of one millisecond', () => {
    const knot = [
      request(2, { since: 5, clientId: 'b' }),
      request(9, { since: 5, clientId: 'a' }),
      request(3, { since: 5, clientId: 'b' }),
    ];
    expect(actorsOf(knot)).toEqual([undefined, 3]);
    expect(actorsOf(knot.reverse())).toEqual([undefined, 3]);
  });
});

describe('shapeOf()', () => {
  const shape = (members) => runAtOnce(shapeOf(members));
  const members = () => [
    ...Array.from({ length: 200 }, (_, i) => request(i)),
    ...Array.from({ length: 200 }, (_, i) => lock(BigInt(2 ** 32 + i))),
  ];

  test('is the same in whatever order', () => {
    expect(shape(members().reverse())).toBe(shape(members()));
  });

  test.each([
    ['one has left', (all) => all.slice(1)],
    ['one has come', (all) => [...all, request(200)]],
    ['one has asked again', (all) => [request(0, { since: 999 }), ...all.slice(1)]],
    ['another one has that number', (all) => [request(0, { clientId: 'd' }), ...all.slice(1)]],
    ['a lock was given to another', (all) => [...all.slice(0, -1), lock(1n)]],
    [
      'two have changed places',
      (all) => [request(0, { since: 1001 }), request(1, { since: 1000 }), ...all.slice(2)],
    ],
  ])('is another one once %s', (_, change) => {
    expect(shape(change(members()))).not.toBe(shape(members()));
  });
});
