'use strict';

const { toPrintableInspection } = require('../../lib/locks/token.js');

const rowOf = (detail) => {
  const whole = { token: 5n, enclosingToken: null, limit: 0, holdLimit: 0, ...detail };
  return toPrintableInspection({ held: [whole], pending: [] }).held[0];
};

test('a row shows null for no limit and no hold limit', () => {
  expect(rowOf({})).toMatchObject({ limit: null, holdLimit: null });
  expect(rowOf({ limit: 3, holdLimit: 0.5 })).toMatchObject({ limit: 3, holdLimit: 0.5 });
});
