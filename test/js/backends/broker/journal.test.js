'use strict';

const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerFiles } = require('../../../../lib/backends/broker/broker-files.js');
const { BrokerTable } = require('../../../../lib/backends/broker/server/broker-table.js');
const { Journal, readLastJournal } = require('../../../../lib/backends/broker/server/journal.js');

let directory;
let place;
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  place = new BrokerFiles('jobs', directory);
  place.ensure();
});
afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

/** Of a hold limit: over before anything else happens. */
const SHORTEST_MS = 1e-9;

const DETAILS = { clientId: 'c', pid: 1, threadId: 0, thread: 't', lifeline: 'l' };

/** A broker's table with its journal, after what the one before has left. */
function open(number) {
  let journal;
  const table = new BrokerTable((ofTable) => {
    journal = new Journal(place, number, () => ofTable.records());
    return journal;
  }, number);
  table.restore(readLastJournal(place));
  journal.writeWhole();
  journal.removeOlder();
  return { table, journal };
}

const view = ({ held, pending }) => [
  held.map(({ name, clientId }) => `${name} ${clientId}`),
  pending.map(({ name, clientId }) => `${name} ${clientId}`),
];

/** A history that uses every kind of record; it stops before the last commit if told so. */
function play({ table, journal }) {
  const [one, two] = ['one', 'two'].map((clientId) =>
    table.openSession(clientId, { ...DETAILS, clientId }),
  );
  table.request(one, [1, 'a', 0, 1, null]);
  table.request(two, [1, 'a', 0, 2, null]);
  table.request(one, [2, 'a', 1, 3, [0, 0, 'label', '', 0, 0]]);
  table.request(two, [2, 'b', 1, 4, null]);
  journal.commit();
  table.release(one, 1);
  table.request(one, [3, 'b', 4, 5, null]); // steals from two
  table.cancel(one, 2, false);
  journal.commit();
  table.request(one, [4, 'c', 0, 6, [0, SHORTEST_MS, '', '', 0, 0]]);
  table.request(two, [3, 'c', 0, 7, null]);
  table.release(one, 4); // too late
  journal.commit();
  return { one, two };
}

test('the next broker has the same holders, places, tokens and losses', () => {
  const first = open(1);
  play(first);
  const before = first.table.inspect();
  const { table } = open(2);
  expect(view(table.snapshot())).toEqual([['a two', 'b one', 'c two'], []]);
  expect(table.inspect().held.map(({ token }) => token)).toEqual(
    before.held.map(({ token }) => token),
  );
  expect(table.sessions.get('two').entries.get(2).lossReason).toBe('stolen');
  expect(table.sessions.get('one').entries.get(4).lossReason).toBe('expired');
  const [, ...records] = first.table.records();
  expect([...table.records()].slice(1)).toEqual(records);
  expect(fs.readdirSync(place.folder).filter((name) => name.startsWith('journal'))).toEqual([
    'journal.2',
  ]);
});

test('tokens of the next broker are above those of the one before, also of ended locks', () => {
  const first = open(1);
  const session = first.table.openSession('s', DETAILS);
  first.table.request(session, [1, 'a', 0, 1, null]);
  const { token } = first.table.inspect().held[0];
  first.table.release(session, 1);
  first.journal.commit();
  const { table } = open(2);
  table.request(table.openSession('s', DETAILS), [2, 'a', 0, 2, null]);
  expect(table.inspect().held[0].token).toBeGreaterThan(token);
});

test('every beginning of a journal is a state in which nobody excludes wrongly', () => {
  play(open(1));
  const file = path.join(place.folder, 'journal.1');
  const whole = fs.readFileSync(file);
  const end = whole.indexOf(0);
  for (let length = whole.indexOf(10) + 1; length <= end; length += 1) {
    fs.writeFileSync(file, whole.subarray(0, length));
    const table = new BrokerTable(() => ({ add() {}, hasRoom: true }), 2);
    table.restore(readLastJournal(place));
    table.processAll();
    const names = table.snapshot().held.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length); // all of these are exclusive, but one alone
  }
});

test('a loss that the client has heard of is forgotten, and noted once', () => {
  const { table } = open(1);
  const [one, two] = ['one', 'two'].map((clientId) =>
    table.openSession(clientId, { ...DETAILS, clientId }),
  );
  table.request(one, [1, 'a', 0, 1, null]);
  table.request(two, [1, 'a', 4, 2, null]); // steals
  const ids = [];
  // As for a client that comes back and does not tell of it any more.
  for (const id of one.entries.keys()) {
    ids.push(id);
    if (ids.length < 3) table.cancel(one, id, false);
  }
  expect(ids).toEqual([1]);
  expect(one.entries.size).toBe(0);
});

test('a queue keeps the order of its times, whatever the order of the records', () => {
  const { table, journal } = open(1);
  const sessions = ['x', 'y', 'z'].map((clientId) =>
    table.openSession(clientId, { ...DETAILS, clientId }),
  );
  sessions.forEach((session, i) => table.request(session, [1, 'a', 0, i, null]));
  sessions.forEach((session, i) => table.request(session, [2, 'a', 0, 10 - i, null]));
  journal.commit();
  const later = open(2).table;
  expect(view(later.snapshot())[1]).toEqual(['a y', 'a z', 'a z', 'a y', 'a x']);
});

test('a journal of another version is refused', () => {
  fs.writeFileSync(path.join(place.folder, 'journal.1'), '["J",99,1,0,0]\n');
  expect(() => readLastJournal(place)).toThrow(/another version/);
});

test('a journal grows by what is in force, not by what has been', () => {
  const { table, journal } = open(1);
  const session = table.openSession('s', DETAILS);
  for (let id = 1; id <= 40_000; id += 1) {
    table.request(session, [id, 'a', 0, id, null]);
    table.release(session, id);
    if (id % 100 === 0) journal.commit();
  }
  expect(fs.statSync(path.join(place.folder, 'journal.1')).size).toBeLessThan(2_000_000);
});

test('what is not written yet has its room, too: the reserve is never used up', () => {
  const { table, journal } = open(1);
  const session = table.openSession('s', DETAILS);
  for (let id = 1; id <= 2000; id += 1) table.request(session, [id, 'a', 0, id, null]);
  journal.commit();
  const text = fs.readFileSync(path.join(place.folder, 'journal.1'), 'utf8');
  expect(text.length - text.indexOf('\0')).toBeGreaterThan(2 ** 15);
});
