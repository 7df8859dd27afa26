'use strict';

const fc = require('fast-check');
const { toKey, toName } = require('../../lib/backends/postgres/names.js');

/** Texts whose escaped form is cut at each of its characters. */
const aroundTheCut = fc
  .tuple(fc.integer({ min: 1_680, max: 1_710 }), fc.constantFrom('\\', '\\\\', '\\u12', 'é', '"'))
  .map(([length, unit]) => 'a'.repeat(length) + unit.repeat(40) + 'b'.repeat(300));

test('the name of each key can be shown: whole, or the beginning of a long one', () => {
  const names = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 3_000 }),
    fc.string({ unit: fc.constantFrom('\\', 'u', '0', 'a'), minLength: 1_600, maxLength: 2_000 }),
    aroundTheCut,
  );
  fc.assert(
    fc.property(names, (name) => {
      const shown = toName(toKey(name));
      if (shown === name) return true;
      return shown.endsWith('…') && name.startsWith(shown.slice(0, -1));
    }),
    { numRuns: 2_000 },
  );
});
