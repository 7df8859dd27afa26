'use strict';

/** @type {(() => void)[] | undefined} they end when the test says so */
let mockPauses;
jest.mock('../../lib/time.js', () => {
  const time = jest.requireActual('../../lib/time.js');
  const setTimeout = (end, ms) =>
    mockPauses === undefined ? time.setTimeout(end, ms) : mockPauses.push(end);
  return { ...time, setTimeout };
});

const { EventEmitter } = require('node:events');
const { WatchStream } = require('../../lib/backends/etcd/watch-stream.js');

const NO_WATCH = '-1';

/** A member that answers what the test says. */
class FakeStream extends EventEmitter {
  isCanceled = false;
  written = [];

  write(message) {
    this.written.push(message);
  }

  cancel() {
    this.isCanceled = true;
  }

  /** @param {string} id  of a watch @param {object} [about] */
  answer(id, about) {
    const header = { revision: '5' };
    this.emit('data', { watch_id: id, events: [], compact_revision: '0', header, ...about });
  }

  /** The numbers of the watches that it was asked for. */
  get requested() {
    const created = this.written.filter((it) => it.create_request !== undefined);
    return created.map((it) => it.create_request.watch_id);
  }
}

/** Any number of connections, and what waits for the next stream. */
class FakeClient {
  isClosed = false;
  connection = {};
  #opened = () => {};

  async openWatchStream() {
    const stream = new FakeStream();
    setImmediate(() => this.#opened(stream));
    return { stream, connection: this.connection };
  }

  nextStream() {
    return new Promise((resolve) => (this.#opened = resolve));
  }

  async replace() {
    this.connection = {};
  }

  leave() {}
}

let client;
let watches;
beforeEach(() => {
  client = new FakeClient();
  watches = new WatchStream(client, { reconnects: 0, events: 0, messages: 0, gaps: 0 });
});
afterEach(() => {
  mockPauses = undefined;
  watches.close();
});

/** It is asked twice. */
function checkTwice(stream, answers = true) {
  for (let i = 0; i < 2; i += 1) {
    watches.check();
    if (answers) stream.answer(NO_WATCH);
  }
}

const add = (key) => watches.add({ key, onEvents: () => {} });

test('the watches of a silent stream continue over another one', async () => {
  const opening = client.nextStream();
  const one = add('one');
  const stream = await opening;
  stream.answer(String(one.id), { created: true });
  const other = add('other');
  const reopening = client.nextStream();
  checkTwice(stream, false);
  const next = await reopening;
  expect(stream.isCanceled).toBe(true);
  expect(next.requested).toEqual([one, other].map(({ id }) => String(id)));
  next.answer(String(other.id), { created: true });
  await other.ready;
});

test('a stream is asked by a watch that sees nothing, and by its end', async () => {
  const opening = client.nextStream();
  const one = add('one');
  const stream = await opening;
  stream.answer(String(one.id), { created: true });
  stream.written = [];
  checkTwice(stream);
  const [made, ended, again] = stream.written.map(Object.values).flat();
  expect(made).toMatchObject({ key: Buffer.from('one'), filters: [1, 0] });
  expect(ended).toEqual({ watch_id: made.watch_id });
  expect(new Set([one.id, made.watch_id, again.watch_id].map(String)).size).toBe(3);
  stream.answer(made.watch_id, { created: true });
  stream.answer(made.watch_id, { canceled: true });
  expect(stream.isCanceled).toBe(false);
});

test('a stream that may not be asked so stays: the watches that it has continue', async () => {
  const opening = client.nextStream();
  const one = add('one');
  const stream = await opening;
  stream.answer(String(one.id), { created: true });
  for (let i = 0; i < 3; i += 1) {
    watches.check();
    stream.answer(NO_WATCH, { created: true, canceled: true, cancel_reason: 'permission denied' });
  }
  await new Promise(setImmediate);
  expect(stream.isCanceled).toBe(false);
});

test('a stream whose watches are answered stays', async () => {
  const opening = client.nextStream();
  const one = add('one');
  const stream = await opening;
  stream.answer(String(one.id), { created: true });
  checkTwice(stream);
  checkTwice(stream);
  await new Promise(setImmediate);
  expect(stream.isCanceled).toBe(false);
});

test('the second time it is given longer', async () => {
  const opening = client.nextStream();
  add('one');
  const stream = await opening;
  const reopening = client.nextStream();
  checkTwice(stream, false);
  const next = await reopening;
  checkTwice(next, false);
  await new Promise(setImmediate);
  expect(next.isCanceled).toBe(false);
  checkTwice(next, false);
  await new Promise(setImmediate);
  expect(next.isCanceled).toBe(true);
});

test('a watch that is added while the stream is to be opened again opens the one stream', async () => {
  const opening = client.nextStream();
  add('one');
  const first = await opening;
  const opened = jest.spyOn(client, 'openWatchStream');
  const reopening = client.nextStream();
  mockPauses = [];
  first.emit('end'); // the next one is opened after a pause
  add('other');
  await reopening;
  for (const endPause of mockPauses) endPause();
  await new Promise(setImmediate);
  expect([mockPauses.length, opened.mock.calls.length]).toEqual([1, 1]);
});
