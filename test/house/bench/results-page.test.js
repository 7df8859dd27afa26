'use strict';

const { mergeParts } = require('../../../bench/harness/results-page.js');
const { textOf } = require('../../support/markdown.js');
const { allScenarioNames } = require('../../../bench/harness/scenarios.js');

const PAGE = `# Results

| goal | what | found |  |
| --- | --- | --- | --- |
| [1](#old) | old goal | 2 x | better |
| [9](#gone) | gone goal | 2 x | better |

## old

Goal 1. Kept.

## gone

Of a scenario that there is no more.
`;

const measured = {
  name: 'new',
  goal: 2,
  title: 'Something new',
  rounds: 1,
  results: { holdfast: { figures: { ns: { median: 5, least: 5, most: 5, values: [5] } } } },
  goals: [{ of: 'holdfast', figure: 'ns', atMost: 9, value: 5, isMet: true }],
  run: { date: '2026-01-02', commit: 'abc', load: 1 },
};

test('a scenario that was not measured here stays on the page; a removed one goes', () => {
  const [table, ...sections] = mergeParts([measured], PAGE, ['old', 'new']);
  expect(table.split('\n').slice(2)).toEqual([
    '| [1](#old) | old goal | 2 x | better |',
    '| [2](#new) | holdfast, ns ≤ 9 | 5 | better |',
  ]);
  expect(sections[0]).toBe('## old\n\nGoal 1. Kept.');
  expect(sections[1]).toMatch(/^## new\n\nGoal 2\. Something new\./);
  expect(sections).toHaveLength(2);
});

test('a section that is measured again is replaced, with its goals', () => {
  const [table, ...sections] = mergeParts([{ ...measured, name: 'old' }], PAGE, ['old']);
  expect(table).not.toContain('old goal');
  expect(sections).toHaveLength(1);
  expect(sections[0]).not.toContain('Kept');
});

test('the page as it is, with nothing measured, stays as it is', () => {
  const page = textOf('bench/RESULTS.md');
  const parts = mergeParts([], page, allScenarioNames()).join('\n\n');
  expect(page.endsWith(`${parts}\n`)).toBe(true);
});
