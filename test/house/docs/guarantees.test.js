'use strict';

const { readFileSync } = require('node:fs');
const { join } = require('node:path');
const { ALL_BUGS } = require('../../mutations/all-bugs.js');

const PAGE = join(__dirname, '..', '..', '..', 'docs', 'guarantees.md');

test('the page of guarantees counts the planted bugs that there are', () => {
  const [, table] = /\| where \| planted \| caught \|\n.*\n([^]*?)\n\n/.exec(
    readFileSync(PAGE, 'utf8'),
  );
  const rows = table.split('\n').map((row) => Number(row.split('|')[2]));
  const all = rows.pop();
  expect(all).toBe(ALL_BUGS.length);
  expect(rows.reduce((sum, planted) => sum + planted, 0)).toBe(all);
});
