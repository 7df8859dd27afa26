'use strict';

const stringWidth = require('string-width');
const { colors } = require('../../lib/cli/output.js');
const { render, TopState } = require('../../lib/cli/top.js');

const plain = { ...colors, ...colors.createColors(false) };

const request = (members = {}) => ({
  name: 'a',
  clientId: 'c',
  mode: 'exclusive',
  priority: 'user-visible',
  overtakes: 0,
  pid: 12_345,
  threadId: 0,
  label: '',
  limit: null,
  holdLimit: null,
  since: 0,
  waited: 200_000,
  held: null,
  token: null,
  enclosingToken: null,
  callSite: '',
  processState: 'running',
  command: 'node server.js',
  ...members,
});
const holder = (members = {}) => request({ held: 723_000, ...members });

const lock = (name, members = {}) => ({
  name,
  held: [holder()],
  pending: [],
  rate: 12_345.6,
  history: [1, 2, 3],
  ...members,
});

const viewOf = (names, deadlocks = []) => ({
  time: 0,
  names,
  deadlocks,
  totals: { held: 0, pending: 0, agents: 0 },
  counts: { deaths: 0, steals: 0, expiries: 0, timeouts: 0, aborts: 0 },
  rates: { grants: 0 },
  missed: 0,
  isSampled: false,
});

function linesOf(view, { size = { columns: 80, rows: 24 }, state = new TopState() } = {}) {
  const rows = state.rows(view);
  return render({ view, state, rows, size, address: 'here', delay: 1_000, colors: plain });
}

const press = (state, view, ...keys) => {
  for (const name of keys) state.press({ name, sequence: name }, state.rows(view));
};

test.each([60, 80, 132])('at %d columns the holder is whole: process, state, time', (columns) => {
  const held = [holder({ threadId: 3, processState: 'stopped' })];
  const name = 'a long name of a lock in some bucket';
  const view = viewOf([lock(name, { held, pending: [request()] })]);
  const lines = linesOf(view, { size: { columns, rows: 24 } });
  expect(lines.join('\n')).toContain('12345/3 stopped 12 m 3 s');
  for (const line of lines) expect(stringWidth(line)).toBeLessThanOrEqual(columns);
});

test('that no lock is used has room in a narrow terminal', () => {
  const state = new TopState();
  state.filter = 'x';
  for (const line of linesOf(viewOf([]), { state, size: { columns: 20, rows: 8 } })) {
    expect(stringWidth(line)).toBeLessThanOrEqual(20);
  }
});

test('in any order deadlocked rows are first, then those whose holder is stopped', () => {
  const stopped = lock('stopped', { held: [holder({ processState: 'stopped' })] });
  const busy = lock('busy', { pending: Array.from({ length: 9 }, () => request()) });
  const deadlocks = [{ members: [{ name: 'stuck' }], behind: 0 }];
  const view = viewOf([busy, stopped, lock('stuck', { pending: [request()] })], deadlocks);
  const state = new TopState();
  for (const key of ['r', 's', 'r', 's', 'r', 's', 'r', 's', 'r', 's']) {
    expect(state.rows(view).map(({ name }) => name)).toEqual(['stuck', 'stopped', 'busy']);
    press(state, view, key);
  }
});

test('a part of the rows is called one, and the selected row is among them', () => {
  const view = viewOf(Array.from({ length: 100 }, (_, at) => lock(`lock ${at + 1}`)));
  const state = new TopState();
  expect(linesOf(view, { state }).join('\n')).toMatch(/rows 1 to 18 of 100/);
  press(state, view, 's', 's', 's', 's', 'end'); // by name
  const lines = linesOf(view, { state });
  expect(lines.join('\n')).toMatch(/rows 83 to 100 of 100/);
  expect(lines.at(-2)).toMatch(/^lock 100 /);
});

test('a part of the requests of a lock is called one', () => {
  const pending = Array.from({ length: 99 }, () => request());
  const view = viewOf([lock('a', { pending })]);
  const state = new TopState();
  press(state, view, 'return');
  const lines = linesOf(view, { state });
  expect(lines.join('\n')).toMatch(/^a: 1 held, 99 waiting {2}rows 1 to 17 of 100$/m);
  expect(lines.at(-2)).toMatch(/^waiting/);
});

test('the requests of a lock are shown with their priority and the number of their overtakes', () => {
  const held = [holder({ priority: 'background' })];
  const pending = [request(), request({ priority: 'background', overtakes: 16 })];
  const view = viewOf([lock('a', { held, pending })]);
  const state = new TopState();
  press(state, view, 'return');
  const text = linesOf(view, { state, size: { columns: 132, rows: 24 } }).join('\n');
  expect(text).toMatch(/^held +exclusive, background +12 m/m);
  expect(text).toMatch(/^waiting +exclusive +3 m/m);
  expect(text).toMatch(/^waiting, overtaken 16 +exclusive, background +3 m/m);
});
