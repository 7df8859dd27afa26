'use strict';

const fs = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { BrokerTable } = require('../../lib/backends/broker/server/broker-table.js');
const { Journal, readLastJournal } = require('../../lib/backends/broker/server/journal.js');
const { IF_AVAILABLE, STEAL } = require('../../lib/backends/broker/wire.js');
const { readLists } = require('../../lib/backends/local/lock-table.js');
const { runAtOnce } = require('../../lib/sliced.js');

let directory;
let files;
beforeEach(() => {
  directory = fs.mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  files = new BrokerFiles('jobs', directory);
  files.ensure();
});
afterEach(() => fs.rmSync(directory, { recursive: true, force: true }));

/** Of a hold limit: over before anything else happens. */
const SHORTEST_MS = 1e-9;

const DETAILS = {
  clientId: 'c',
  pid: 1,
  pidNamespace: '',
  threadId: 0,
  thread: 't',
  lifeline: 'l',
};

const readLast = (ofFiles, number) => runAtOnce(readLastJournal(ofFiles, number));

/** A broker's table, after what the one before has left; its own journal is not there yet. */
function takeOver(number, run = runAtOnce) {
  let journal;
  const table = new BrokerTable((ofTable) => {
    journal = new Journal(files, number, ofTable, run);
    return journal;
  }, number);
  runAtOnce(table.restore(readLast(files, number).records));
  return { table, journal };
}

/** A broker's table with its journal, after what the one before has left. */
function open(number, run) {
  const broker = takeOver(number, run);
  runAtOnce(broker.journal.begin());
  return broker;
}

const view = ({ held, pending }) => [
  Array.from(held, ({ name, clientId }) => `${name} ${clientId}`),
  Array.from(pending, ({ name, clientId }) => `${name} ${clientId}`),
];

const inspect = (table) => runAtOnce(readLists(table.inspect(DETAILS)));

/** A history that uses every kind of record; it stops before the last commit if asked to. */
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
  const before = inspect(first.table);
  const { table } = open(2);
  expect(view(table.snapshot())).toEqual([['a two', 'b one', 'c two'], []]);
  expect(inspect(table).held.map(({ token }) => token)).toEqual(
    before.held.map(({ token }) => token),
  );
  expect(table.sessions.get('two').entries.get(2).lossReason).toBe('stolen');
  expect(table.sessions.get('one').entries.get(4).lossReason).toBe('expired');
  const [, ...records] = first.table.records();
  expect([...table.records()].slice(1)).toEqual(records);
  expect(fs.readdirSync(files.folder).filter((name) => name.startsWith('journal'))).toEqual([
    'journal.2',
  ]);
});

test('tokens of the next broker are above the tokens of the one before, also of ended locks', () => {
  const first = open(1);
  const session = first.table.openSession('s', DETAILS);
  first.table.request(session, [1, 'a', 0, 1, null]);
  const { token } = inspect(first.table).held[0];
  first.table.release(session, 1);
  first.journal.commit();
  const { table } = open(2);
  table.request(table.openSession('s', DETAILS), [2, 'a', 0, 2, null]);
  expect(inspect(table).held[0].token).toBeGreaterThan(token);
});

test('every beginning of a journal is a state in which no request excludes wrongly', () => {
  play(open(1));
  const file = path.join(files.folder, 'journal.1');
  const whole = fs.readFileSync(file);
  const end = whole.indexOf(0);
  for (let length = whole.indexOf(10) + 1; length <= end; length += 1) {
    fs.writeFileSync(file, whole.subarray(0, length));
    const table = new BrokerTable(() => ({ add() {}, hasRoomFor: () => true }), 2);
    runAtOnce(table.restore(readLast(files, 2).records));
    runAtOnce(table.processAll());
    const names = Array.from(table.snapshot().held, ({ name }) => name);
    expect(new Set(names).size).toBe(names.length); // all of these are exclusive, but one alone
  }
});

test.each([
  ['steal', STEAL],
  ['ifAvailable', IF_AVAILABLE],
])('a request with %s whose grant was cut off is made again by its client', (_option, flags) => {
  const known = [
    ['S', 'one', DETAILS],
    ['Q', 'one', 1, 'a', flags, 1, null],
  ];
  const next = open(1).table;
  runAtOnce(next.restore(known));
  expect(view(inspect(next))).toEqual([[], []]);
  expect(next.sessions.get('one').entries.size).toBe(0);
});

test('a loss that the client was notified of is forgotten, and noted once', () => {
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

describe('a queue with priorities', () => {
  const VISIBLE = 0;
  const BACKGROUND = 16;
  const URGENT = 32;
  const EXTRAS = [0, 0, '', '', 0, 0, -1];

  /** The numbers of the waiting requests, with how often each was overtaken. */
  const queueOf = ({ sessions }) =>
    Array.from(sessions.values(), ({ entries }) => [...entries.values()])
      .flat()
      .filter((entry) => entry.isQueued)
      .sort((a, b) => a.order - b.order)
      .map(({ requestId, overtakes }) => [requestId, overtakes]);

  function playPriorities({ table, journal }) {
    const [one, two] = ['one', 'two'].map((clientId) =>
      table.openSession(clientId, { ...DETAILS, clientId }),
    );
    table.request(one, [1, 'a', 0, 1, null]);
    table.request(one, [2, 'a', BACKGROUND, 2, EXTRAS]);
    table.request(two, [3, 'a', VISIBLE, 3, EXTRAS]);
    table.request(one, [4, 'a', BACKGROUND, 4, EXTRAS]);
    table.request(two, [5, 'a', URGENT, 5, EXTRAS]);
    table.changePriority(one, 4, URGENT);
    table.changePriority(two, 3, BACKGROUND);
    journal.commit();
  }
  const ORDER = [
    [4, 1],
    [5, 0],
    [2, 3],
    [3, 2],
  ];

  test('is the same for each of the next brokers', () => {
    const first = open(1);
    playPriorities(first);
    expect(queueOf(first.table)).toEqual(ORDER);
    const second = open(2); // reads what has happened, and writes the state
    expect(queueOf(second.table)).toEqual(ORDER);
    const third = open(3);
    expect(queueOf(third.table)).toEqual(ORDER);
    third.table.request(third.table.sessions.get('one'), [6, 'a', URGENT, 6, EXTRAS]);
    expect(queueOf(third.table)).toEqual([
      [4, 1],
      [5, 0],
      [6, 0],
      [2, 4],
      [3, 3],
    ]);
  });
});

test('a broker neither reads nor removes the journal of a later one', () => {
  open(1);
  const later = open(7);
  play(later);
  const text = fs.readFileSync(files.journalFile(7), 'utf8');
  expect(view(open(5).table.snapshot())).toEqual([[], []]);
  expect(fs.readFileSync(files.journalFile(7), 'utf8')).toBe(text);
  expect(files.journalNumbers().sort()).toEqual([5, 7]);
  expect(view(open(8).table.snapshot())).toEqual(view(later.table.snapshot()));
  expect(files.journalNumbers()).toEqual([8]);
});

test('a long record is put together once when it is read', () => {
  const { table, journal } = open(1);
  const name = 'n'.repeat(2 ** 21);
  table.request(table.openSession('s', DETAILS), [1, name, 0, 1, null]);
  journal.commit();
  const { size } = fs.statSync(files.journalFile(1));
  const concat = jest.spyOn(Buffer, 'concat');
  const { records } = readLast(files, 2);
  const copied = concat.mock.results.reduce((sum, { value }) => sum + value.length, 0);
  concat.mockRestore();
  expect(records.some(([kind, , , found]) => kind === 'Q' && found === name)).toBe(true);
  expect(copied).toBeLessThanOrEqual(size);
});

test('a journal of another version is refused', () => {
  fs.writeFileSync(path.join(files.folder, 'journal.1'), '["J",99,1,0,0]\n');
  expect(() => readLast(files, 2)).toThrow(/another version/);
});

const CORRUPTIONS = [
  ['that is no JSON', 'line 2', (lines) => lines.toSpliced(1, 1, 'noise')],
  ['that is no record', 'line 3', (lines) => lines.toSpliced(2, 1, '{"S":1}')],
  ['of an unknown kind', 'line 2', (lines) => lines.toSpliced(1, 1, '["X","s",1]')],
  ['that names no session', 'line 4', (lines) => lines.toSpliced(3, 1, '["D",7,1]')],
  ['that was cut off in the middle', 'line 2', (lines) => lines.toSpliced(1, 1, lines[1].slice(9))],
  ['that became zeros', 'behind line 1', (lines) => lines.toSpliced(1, 1, '\0'.repeat(40))],
];

test.each(CORRUPTIONS)('a line %s is a corruption, wherever it is', (_title, where, corruption) => {
  play(open(1));
  const file = path.join(files.folder, 'journal.1');
  const lines = fs.readFileSync(file, 'utf8').split('\n');
  fs.writeFileSync(file, corruption([...lines]).join('\n'));
  const last = readLast(files, 2);
  expect(last).toMatchObject({ records: [], corruption: { file, where } });
  expect(last.corruption.records.length).toBeLessThan(lines.length);
});

test('after a corruption tokens are above all that the journal may have named', () => {
  const { table } = open(1);
  const { table: next } = open(2);
  const grant = (ofTable, id) => {
    ofTable.request(ofTable.openSession('s', DETAILS), [id, `${id}`, 0, 1, null]);
    return inspect(ofTable).held.at(-1).token;
  };
  const token = grant(table, 1);
  const [high, low] = [Number(token >> 32n) + 7, 5];
  next.passTokens([['G', 's', 1, high, low, 0]], 1000);
  expect(grant(next, 2)).toBe((BigInt(high) << 32n) + 5n + 1000n + 1n);
});

test('of two that both say they hold it, the later grant counts; the earlier one was lost', () => {
  const { table } = open(1);
  const holds = [
    ['one', [1, 'a', 0, 1, null], 5, 1],
    ['two', [1, 'a', 4, 2, null], 5, 2], // stole it
    ['one', [2, 'b', 1, 3, [2, 0, '', '', 0, 0]], 5, 3],
    ['two', [2, 'b', 1, 4, [2, 0, '', '', 0, 0]], 5, 4],
    ['two', [3, 'b', 1, 5, [2, 0, '', '', 0, 0]], 5, 5], // after the hold limit of the first one
  ].map(([id, fields, high, low]) => ({
    session: table.openSession(id, DETAILS),
    fields,
    high,
    low,
  }));
  runAtOnce(table.adopt(holds));
  expect(inspect(table).held.map(({ token }) => Number(token & 0xffn))).toEqual([2, 4, 5]);
  const losses = [1, 2].map((id) => table.sessions.get('one').entries.get(id).lossReason);
  expect(losses).toEqual(['disconnected', 'disconnected']);
});

test('a journal grows by what is in force, not by what has been', () => {
  const { table, journal } = open(1);
  const session = table.openSession('s', DETAILS);
  for (let id = 1; id <= 40_000; id += 1) {
    table.request(session, [id, 'a', 0, id, null]);
    table.release(session, id);
    if (id % 100 === 0) journal.commit();
  }
  expect(fs.statSync(path.join(files.folder, 'journal.1')).size).toBeLessThan(2_000_000);
});

test('there is room for the ends of all that was taken, and no more is kept when they are over', () => {
  const { table, journal } = open(1);
  const sessions = ['x', 'y'].map((id) => table.openSession(id, DETAILS));
  const holdLimit = [0, SHORTEST_MS, 'label', '', 0, 0];
  for (let id = 1; id <= 3000; id += 1) {
    for (const session of sessions) {
      table.request(session, [id, 'a', id % 2, id, id % 7 === 0 ? holdLimit : null]);
    }
  }
  journal.commit();
  const file = path.join(files.folder, 'journal.1');
  const whole = fs.statSync(file).size;
  for (let id = 1; id <= 3000; id += 1) {
    for (const session of sessions) {
      table.release(session, id);
      table.forget(session, id);
    }
    journal.commit();
  }
  for (const session of sessions) table.endSession(session, true);
  journal.commit();
  expect(fs.statSync(file).size).toBeLessThanOrEqual(whole);
  expect(table.owedBytes).toBe(0);
});

test('an unwritten record has its room, too: the reserve is never used up', () => {
  const { table, journal } = open(1);
  const session = table.openSession('s', DETAILS);
  for (let id = 1; id <= 2000; id += 1) table.request(session, [id, 'a', 0, id, null]);
  journal.commit();
  const text = fs.readFileSync(path.join(files.folder, 'journal.1'), 'utf8');
  expect(text.length - text.indexOf('\0')).toBeGreaterThan(2 ** 15);
});

/** More than one page of a journal together. */
const LONG_NAMES = Array.from({ length: 400 }, (_, i) => `${i} ${'n'.repeat(4_000)}`);

/** The state of the next broker if this one is killed now; the files stay as they are. */
function stateAfterCrash() {
  const image = new BrokerFiles('jobs', path.join(directory, 'image'));
  fs.rmSync(image.directory, { recursive: true, force: true });
  fs.cpSync(files.folder, image.folder, { recursive: true });
  const table = new BrokerTable(() => ({ add() {}, hasRoomFor: () => true }), 99);
  runAtOnce(table.restore(readLast(image, 99).records));
  return stateOf(table);
}

/** All but the head, which has the number of the broker. */
const stateOf = (table) => [...table.records()].slice(1);

/** One change after the other: of requests that a page shows already, and of others. */
function* changesOf({ table }, session) {
  const other = table.openSession('other', { ...DETAILS, clientId: 'other' });
  for (let i = 0; ; i += 1) {
    const [first, last] = [i + 1, LONG_NAMES.length - i];
    table.release(session, first);
    yield;
    table.request(other, [2 * i + 1, LONG_NAMES[i], 0, i, null]);
    yield;
    table.request(other, [2 * i + 2, LONG_NAMES[last - 1], STEAL, i, null]);
    yield;
    table.cancel(session, last, false);
    yield;
    table.endSession(table.openSession(`short ${i}`, DETAILS), true);
    yield;
  }
}

test('a broker that is killed at any page of a shrink has notified of nothing that is lost', () => {
  const works = [];
  const broker = open(1, (work) => works.push(work));
  const { table, journal } = broker;
  const session = table.openSession('s', DETAILS);
  LONG_NAMES.forEach((name, i) => table.request(session, [i + 1, name, 0, i, null]));
  const changes = changesOf(broker, session);
  journal.commit();
  const [shrink] = works;
  let pages = 0;
  for (; !shrink.next().done; pages += 1) {
    expect(stateAfterCrash()).toEqual(stateOf(table));
    // First more than is copied while the room is made.
    for (let i = 0; i < (pages === 0 ? 500 : 5); i += 1) {
      changes.next();
      journal.commit();
    }
    expect(stateAfterCrash()).toEqual(stateOf(table));
  }
  expect(stateAfterCrash()).toEqual(stateOf(table));
  expect(works).toHaveLength(1);
  expect(pages).toBeGreaterThan(7); // of the state, the records since, and the room
  expect(fs.readdirSync(files.folder).filter((name) => name.startsWith('draft'))).toEqual([]);
  changes.next();
  journal.commit();
  expect(stateAfterCrash()).toEqual(stateOf(table));
});

test('a broker that is killed before its first journal is whole has notified of nothing', () => {
  const before = open(1);
  const session = before.table.openSession('s', DETAILS);
  LONG_NAMES.forEach((name, i) => before.table.request(session, [i + 1, name, 0, i, null]));
  before.journal.commit();
  const state = stateOf(before.table);
  const broker = takeOver(2);
  const changes = changesOf(broker, broker.table.sessions.get('s'));
  changes.next(); // as when a hold limit passes while the clients are greeted
  expect(broker.journal.commit()).toBe(false);
  expect(stateAfterCrash()).toEqual(state);
  const first = broker.journal.begin();
  let pages = 0;
  while (!first.next().done && !fs.existsSync(files.journalFile(2))) {
    pages += 1;
    expect(stateAfterCrash()).toEqual(state);
    changes.next();
    expect(broker.journal.commit()).toBe(false);
  }
  expect(pages).toBeGreaterThan(5);
  runAtOnce(first);
  expect(broker.journal.commit()).toBe(true);
  expect(stateAfterCrash()).toEqual(stateOf(broker.table));
});

test('a request is not refused for the room that a shrink takes', () => {
  const works = [];
  const { table, journal } = open(1, (work) => works.push(work));
  const session = table.openSession('s', DETAILS);
  LONG_NAMES.forEach((name, i) => table.request(session, [i + 1, name, 0, i, null]));
  journal.commit();
  const [shrink] = works;
  shrink.next();
  const { writeSync } = fs;
  const isThere = () => fs.readdirSync(files.folder).some((name) => name.startsWith('draft'));
  expect(isThere()).toBe(true);
  jest.spyOn(fs, 'writeSync').mockImplementation((...args) => {
    if (isThere()) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
    return writeSync(...args);
  });
  expect(journal.hasRoomFor(2 ** 20)).toBe(true);
  jest.restoreAllMocks();
  expect(shrink.next().done).toBe(true);
  table.release(session, 1);
  journal.commit();
  expect(stateAfterCrash()).toEqual(stateOf(table));
});
