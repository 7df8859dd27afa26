'use strict';

const fc = require('fast-check');
const { numberOf, toLeaseId } = require('../../lib/backends/etcd/keys.js');
const { RequestIds } = require('../../lib/backends/etcd/session.js');

const leaseId = toLeaseId('7');
const requests = (count) => Array.from({ length: count }, () => ({ id: '' }));

test('ids are used again; requests that get theirs together have them in their order', () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ take: fc.integer({ min: 1, max: 5 }) }),
      fc.record({ end: fc.nat(), isFailure: fc.boolean() }),
    ),
  );
  fc.assert(
    fc.property(steps, (all) => {
      const ids = new RequestIds(leaseId);
      const inUse = [];
      let [most, retired] = [0, 0];
      for (const { take = 0, end, isFailure } of all) {
        const taken = requests(take);
        if (take > 0) ids.take(taken);
        expect(taken.map(({ id }) => id)).toEqual(taken.map(({ id }) => id).sort());
        inUse.push(...taken);
        most = Math.max(most, inUse.length);
        if (end !== undefined && inUse.length > 0) {
          const [ended] = inUse.splice(end % inUse.length, 1);
          if (isFailure) ids.retire(ended);
          else ids.free(ended);
          retired += isFailure ? 1 : 0;
          expect(ids.find(ended.id)).toBeUndefined();
        }
        for (const request of inUse) expect(ids.find(request.id)).toBe(request);
        const numbers = inUse.map(({ id }) => numberOf(id));
        expect(new Set(numbers).size).toBe(numbers.length);
        expect(Math.max(0, ...numbers)).toBeLessThanOrEqual(most + retired);
      }
    }),
  );
});

test('an id that is returned twice is given out once', () => {
  const ids = new RequestIds(leaseId);
  const [first, second, third] = requests(3);
  ids.take([first]);
  ids.free(first);
  ids.free(first);
  ids.take([second, third]);
  expect(second.id).not.toBe(third.id);
  ids.free(first); // which has it no more
  expect(ids.find(second.id)).toBe(second);
});
