'use strict';

const { EventEmitter } = require('node:events');
const { setImmediate: nextTurn } = require('node:timers/promises');
const { EtcdError } = require('../../lib/backends/etcd/etcd-errors.js');
const { BucketKeys, toRequestId } = require('../../lib/backends/etcd/keys.js');
const { EtcdRequest } = require('../../lib/backends/etcd/name-lock.js');
const { Session } = require('../../lib/backends/etcd/session.js');
const { RemoteRequest, SessionLost } = require('../../lib/backends/remote/lock-session.js');
const { bytes, get, put, textOf } = require('../../lib/backends/etcd/transaction.js');

const noop = () => {};

// The fence of a session: the test says when a call arrives.

/** Answers a watch at once. */
class FakeStream extends EventEmitter {
  /** @type {any[]} what was asked for */
  watches = [];

  write({ create_request: created }) {
    if (created === undefined) return;
    this.watches.push(created);
    setImmediate(() => this.report(created, { created: true }));
  }

  /** Of a watch. */
  report({ watch_id: id }, about) {
    const header = { revision: '1' };
    this.emit('data', { watch_id: id, events: [], compact_revision: '0', header, ...about });
  }

  cancel() {}
}

/** Keys, revisions, and the parts of transactions that a session uses for its fence. */
class FakeStore {
  #revision = 0;
  #keys = new Map();

  carryOut({ compare = [], success = [], failure = [] }) {
    const succeeded = compare.every((it) => this.#revisionOf(it.key) === it.mod_revision);
    this.#revision += 1;
    const responses = (succeeded ? success : failure).map((op) => this.#do(op));
    return { header: { revision: String(this.#revision) }, succeeded, responses };
  }

  #do({ request_put: written, request_range: read, request_txn: inner, ...others }) {
    if (others.request_delete_range) return this.remove(textOf(others.request_delete_range.key));
    if (inner !== undefined) return { response_txn: this.carryOut(inner) };
    const key = textOf((written ?? read).key);
    const old = this.#keys.get(key);
    if (read !== undefined) {
      return { response_range: { kvs: old ? [{ mod_revision: old.revision }] : [] } };
    }
    const writes = (old?.writes ?? 0) + 1;
    this.#keys.set(key, { revision: String(this.#revision), writes });
    return { response_put: {} };
  }

  #revisionOf(key) {
    return this.#keys.get(textOf(key))?.revision;
  }

  /** As a copy of older data would. */
  setBack(key) {
    this.#keys.get(key).revision = '0';
  }

  remove(key) {
    this.#keys.delete(key);
  }

  writesOf(key) {
    return this.#keys.get(key)?.writes ?? 0;
  }
}

/** Its calls arrive at the store when the test says so, and are answered then. */
class FakeClient {
  isClosed = false;
  connection = {};
  lateMs = 60_000;
  store = new FakeStore();
  isPrompt = true;
  /** @type {((isAnswered?: boolean) => void)[]} on their way */
  calls = [];
  /** @type {Error | undefined} what calls that arrive are answered with */
  failure;
  sent = [];

  call(service, method, request) {
    if (service !== 'KV') return Promise.resolve({});
    if (this.isPrompt) return Promise.resolve(this.store.carryOut(request));
    this.sent.push(JSON.stringify(request));
    return new Promise((resolve, reject) => {
      this.calls.push((isAnswered = true) => {
        if (this.failure !== undefined) return reject(this.failure);
        const answer = this.store.carryOut(request);
        if (isAnswered) resolve(answer);
      });
    });
  }

  stream = new FakeStream();

  async openWatchStream() {
    return { stream: this.stream, connection: this.connection };
  }

  async replace() {
    this.connection = {};
  }

  /** Resolves when so many calls are on their way. */
  async untilCalls(count) {
    while (this.calls.length < count) await nextTurn();
  }

  arrive() {
    this.calls.shift()();
  }
}

const TTL_MS = 60_000;
const keys = new BucketKeys('prefix', 'bucket');

let client;
let session;
/** The notices that were passed on, as id and revision. */
let notices;
beforeEach(async () => {
  client = new FakeClient();
  notices = [];
  const onNotice = ({ id }, _notice, revision) => notices.push([id, revision]);
  session = new Session(client, keys, TTL_MS, {
    onNotice,
    onNoticeGap: noop,
    onExtended: noop,
    onLost: noop,
  });
  await session.open('about');
  client.isPrompt = false;
});
afterEach(() => {
  client.isPrompt = true;
  return session.close();
});

const aboutKey = () => keys.sessionKey(session.leaseId);
function change(key, recover = async () => undefined) {
  const changed = session.change([], [put(key, 'value', session.lease)], [], recover);
  changed.catch(() => {}); // a test that fails leaves it
  return changed;
}

describe('if answers are late', () => {
  beforeEach(() => {
    client.lateMs = 5;
  });

  test('a fence that is asked for again is moved once', async () => {
    const one = change('one');
    await client.untilCalls(4); // the change, and three tries to move the fence
    client.arrive();
    expect(await one).toMatchObject({ succeeded: true });
    while (client.calls.length > 0) client.arrive();
    await nextTurn();
    expect(client.store.writesOf(aboutKey())).toBe(2);
  });

  test('a change after a move of the fence is not undone by late tries of that move', async () => {
    const one = change('one', async () => ({ isUnknown: true }));
    await client.untilCalls(4);
    const [late, ...moves] = client.calls.splice(0);
    moves.shift()();
    expect(await one).toEqual({ isUnknown: true });
    const other = change('other');
    await client.untilCalls(1);
    for (const move of moves) move();
    late();
    expect(client.store.writesOf('one')).toBe(0); // it comes too late for its fence
    client.arrive();
    expect(await other).toMatchObject({ succeeded: true });
    expect(client.store.writesOf('other')).toBe(1);
  });

  test('a change that is asked for while the fence is moved is sent with the new one', async () => {
    const one = change('one', async () => ({ isUnknown: true }));
    await client.untilCalls(2);
    const late = client.calls.shift();
    const key = 'asked for meanwhile';
    const isOf = (text) => text.includes(JSON.stringify(bytes(key)));
    let answer;
    change(key).then(
      (it) => (answer = it),
      () => {},
    );
    await nextTurn();
    expect(client.sent.filter(isOf)).toEqual([]);
    for (; answer === undefined; await nextTurn()) client.calls.shift()?.();
    late();
    expect(await one).toEqual({ isUnknown: true });
    expect(answer).toMatchObject({ succeeded: true });
    expect(client.sent.filter(isOf)).toHaveLength(1);
    expect(client.store.writesOf('one')).toBe(0);
  });

  test('a fence whose move was carried out without an answer is read', async () => {
    const one = change('one', async () => ({ isUnknown: true }));
    await client.untilCalls(3);
    const [, move, again] = client.calls.splice(0);
    move(false);
    again();
    expect(await one).toEqual({ isUnknown: true });
    expect(client.store.writesOf(aboutKey())).toBe(2);
    const other = change('other');
    await client.untilCalls(1);
    client.arrive();
    expect(await other).toMatchObject({ succeeded: true });
  });

  test('a fence that may never be moved ends the session', async () => {
    const one = change('one');
    await client.untilCalls(2);
    client.failure = new EtcdError(7, 'etcdserver: permission denied', 'a member');
    client.calls[1]();
    await expect(one).rejects.toThrow(SessionLost);
    expect(session.isOver).toBe(true);
  });

  test('a fence for which there is no room is moved when there is', async () => {
    const one = change('one', async () => ({ isUnknown: true }));
    await client.untilCalls(2);
    client.failure = new EtcdError(8, 'etcdserver: mvcc: database space exceeded', 'a member');
    client.calls.splice(1)[0]();
    await client.untilCalls(2); // it is tried again
    expect(session.isOver).toBe(false);
    client.failure = undefined;
    client.calls.splice(1)[0]();
    expect(await one).toEqual({ isUnknown: true });
  });

  test('a change in doubt ends the session if its outcome cannot be read', async () => {
    const refusal = new EtcdError(7, 'etcdserver: permission denied', 'a member');
    const one = change('one', () => Promise.reject(refusal));
    await client.untilCalls(2);
    client.calls[1]();
    await expect(one).rejects.toThrow(SessionLost);
    expect(session.isOver).toBe(true);
  });
});

test('a change that is refused because a token is stale is made when there is another one', async () => {
  const one = change('one');
  await client.untilCalls(1);
  client.failure = new EtcdError(16, 'etcdserver: invalid auth token', 'a member');
  client.arrive();
  await client.untilCalls(1);
  client.failure = undefined;
  client.arrive();
  expect(await one).toMatchObject({ succeeded: true });
});

test('a cluster that was set back to older data ends the session', async () => {
  const one = change('one');
  await client.untilCalls(1);
  client.store.setBack(aboutKey());
  client.arrive();
  await expect(one).rejects.toThrow(SessionLost);
  expect(session.isOver).toBe(true);
});

/** The watches of notification and of the session's own key. */
const watches = () => client.stream.watches;

test('watches notification that comes, and not that it is removed', () => {
  expect(watches().map(({ key, filters }) => [textOf(key), filters])).toEqual([
    [keys.notifications(session.leaseId), [1]],
    [aboutKey(), [0]],
  ]);
});

test('watches a bucket over another stream than grants', async () => {
  const opened = jest.spyOn(client, 'openWatchStream');
  session.bucketWatches.add({ key: keys.root, onEvents: noop });
  await nextTurn();
  expect(opened).toHaveBeenCalledTimes(1);
});

test('ends when its own key is removed', () => {
  const kv = { key: bytes(aboutKey()), value: Buffer.alloc(0), mod_revision: '9' };
  client.stream.report(watches()[1], { events: [{ type: 1, kv }] });
  expect(session.isOver).toBe(true);
});

test('reads its own key where its end may have been missed', async () => {
  client.stream.report(watches()[1], { canceled: true, compact_revision: '5' });
  await client.untilCalls(1);
  client.arrive();
  await nextTurn();
  expect(session.isOver).toBe(false);
  client.store.remove(aboutKey());
  client.stream.report(watches()[2], { canceled: true, compact_revision: '7' });
  await client.untilCalls(1);
  client.arrive();
  await nextTurn();
  expect(session.isOver).toBe(true);
});

test('a read that does not find its own key ends it: the absence of others says nothing', async () => {
  client.store.remove(aboutKey());
  const read = session.read([get('another')]);
  await client.untilCalls(1);
  client.arrive();
  await expect(read).rejects.toThrow(SessionLost);
  expect(session.isOver).toBe(true);
});

describe('a notice', () => {
  const requestOf = (number) =>
    new EtcdRequest(new RemoteRequest({ number, name: 'a', mode: 'exclusive', since: 0 }));

  function receive(id, revision) {
    const key = bytes(keys.notification(id));
    const kv = { key, value: Buffer.from('{}'), mod_revision: revision };
    client.stream.report(watches()[0], { events: [{ type: 0, kv }] });
  }

  test('is passed on to the request that has the id', () => {
    const request = requestOf(1);
    session.identify([request]);
    receive(request.id, '9');
    expect(notices).toEqual([[request.id, '9']]);
  });

  test('to an id that is not in use is passed on to nothing', () => {
    receive(toRequestId(session.leaseId, 1), '9');
    expect(notices).toEqual([]);
  });

  test('a session that is over gives no ids', () => {
    session.abandon();
    expect(() => session.identify([requestOf(1)])).toThrow(SessionLost);
  });
});
