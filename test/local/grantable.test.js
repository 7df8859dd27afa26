'use strict';

const { isGrantable } = require('../../lib/backends/grantable.js');

describe('the grant rule of the lock tables in JavaScript', () => {
  test.each([
    { mode: 'exclusive', limit: 0, beside: 'a free lock', exclusive: 0, shared: 0, expected: true },
    {
      mode: 'exclusive',
      limit: 0,
      beside: 'an exclusive holder',
      exclusive: 1,
      shared: 0,
      expected: false,
    },
    {
      mode: 'exclusive',
      limit: 0,
      beside: 'two shared holders',
      exclusive: 0,
      shared: 2,
      expected: false,
    },
    { mode: 'shared', limit: 0, beside: 'a free lock', exclusive: 0, shared: 0, expected: true },
    {
      mode: 'shared',
      limit: 0,
      beside: 'an exclusive holder',
      exclusive: 1,
      shared: 0,
      expected: false,
    },
    {
      mode: 'shared',
      limit: 0,
      beside: 'two shared holders',
      exclusive: 0,
      shared: 2,
      expected: true,
    },
    { mode: 'shared', limit: 1, beside: 'a free lock', exclusive: 0, shared: 0, expected: true },
    {
      mode: 'shared',
      limit: 2,
      beside: 'two shared holders',
      exclusive: 0,
      shared: 2,
      expected: false,
    },
    {
      mode: 'shared',
      limit: 3,
      beside: 'two shared holders',
      exclusive: 0,
      shared: 2,
      expected: true,
    },
    {
      mode: 'shared',
      limit: 3,
      beside: 'an exclusive holder',
      exclusive: 1,
      shared: 0,
      expected: false,
    },
  ])('$mode with limit $limit beside $beside: $expected', (row) => {
    expect(isGrantable(row.mode, row.limit, row.exclusive, row.shared)).toBe(row.expected);
  });
});
