'use strict';

const { addToHistory, historyRows, readHistory } = require('../../../bench/harness/history.js');

const measured = (commit, value) => ({
  name: 'sync-2',
  goals: [
    { of: 'requestSync()', per: 'spinning ping-pong', figure: 'hand-overs/s', value: 9 },
    { of: 'requestSync()', per: 'futex ping-pong', figure: 'hand-overs/s', value },
  ],
  run: { commit, date: '2026-01-02', load: 1 },
});
const other = {
  name: 'memory',
  goals: [{ of: 'holdfast', figure: 'bytes', value: 1 }],
  run: { commit: 'other', date: '2026-01-02', load: 1 },
};
const TITLE = 'sync-2: requestSync(), hand-overs/s, per futex ping-pong';

test('a run adds the main ratios of its commit, and no others', () => {
  expect(addToHistory([], [measured('abc', 25.4321), other], '1.2.3')).toEqual([
    { version: '1.2.3', commit: 'abc', date: '2026-01-02', ratios: { [TITLE]: 25.4 } },
  ]);
});

test('a scenario that is measured again replaces the ratio of its commit', () => {
  const once = addToHistory([], [measured('abc', 25)], '1.2.3');
  const twice = addToHistory(once, [measured('abc', 30)], '1.2.3');
  expect(twice.map(({ ratios }) => ratios[TITLE])).toEqual([30]);
  expect(once[0].ratios[TITLE]).toBe(25); // the history that was given is not changed
});

test('a figure that could not be measured adds nothing', () => {
  expect(addToHistory([], [measured('abc', undefined)], '1.2.3')).toEqual([]);
});

test('the table has a column for each version, and the oldest ones go', () => {
  let history = [];
  for (let i = 0; i < 20; i += 1)
    history = addToHistory(history, [measured(`c${i}`, i + 1)], '1.0.0');
  const [header, ...rows] = historyRows(history);
  expect(header).toHaveLength(13);
  expect(header[1]).toBe('1.0.0 (c8), 2026-01-02');
  expect(rows.find(([title]) => title === TITLE)?.slice(1, 3)).toEqual(['9 x', '10 x']);
});

test('the history that is kept names ratios that there are', () => {
  const titles = historyRows([]).slice(1).flat();
  const kept = readHistory().flatMap(({ ratios }) => Object.keys(ratios));
  expect(kept.length).toBeGreaterThan(0);
  expect(kept.filter((title) => !titles.includes(title))).toEqual([]);
});
