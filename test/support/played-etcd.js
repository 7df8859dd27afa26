'use strict';

const { BucketKeys, toLeaseId } = require('../../lib/backends/etcd/keys.js');
const { EtcdRequest, NameLock } = require('../../lib/backends/etcd/name-lock.js');
const { EntryOrder, RequestIds } = require('../../lib/backends/etcd/session.js');
const { textOf } = require('../../lib/backends/etcd/transaction.js');
const { RemoteRequest } = require('../../lib/backends/remote/lock-session.js');

// The keys, revisions and transactions of etcd, and sessions that use them for one name.

const bucket = new BucketKeys('prefix', 'bucket');
const NAME = 'a';
const DESCENDING = 2;

const turn = () => new Promise(setImmediate);

/** @param {object} range @returns {(key: string) => boolean} */
function within({ key, range_end: end }) {
  const [from, to] = [textOf(key), end === undefined ? undefined : textOf(end)];
  return to === undefined ? (it) => it === from : (it) => it >= from && it < to;
}

/**
 * As etcd, refuses operations that write a key twice, or write and remove it.
 * @param {any[]} operations
 * @returns {{ puts: string[], removals: string[] }}
 */
function checkWrites(operations) {
  const inner = operations
    .filter(({ request_txn: it }) => it !== undefined)
    .map(({ request_txn: it }) => [checkWrites(it.success ?? []), checkWrites(it.failure ?? [])]);
  const own = operations.flatMap(({ request_put: it }) => (it === undefined ? [] : textOf(it.key)));
  const puts = [
    ...own,
    ...inner.flatMap((branches) => [...new Set(branches.flatMap((branch) => branch.puts))]),
  ];
  const removals = operations.flatMap(({ request_delete_range: it }) =>
    it === undefined ? [] : textOf(it.key),
  );
  const all = new Set(puts);
  const innerRemovals = inner.flat().flatMap((branch) => branch.removals);
  const isTwice = all.size < puts.length || removals.some((key) => all.has(key));
  if (isTwice || innerRemovals.some((key) => own.includes(key))) throw new Error('duplicate key');
  return { puts, removals: [...removals, ...innerRemovals] };
}

class PlayedEtcd {
  revision = 0;
  /** Reads of the oldest or newest with the default priority: the cluster sorts all of them. */
  sortedReads = 0;
  /** @type {Map<string, { value: Buffer, created: number, changed: number }>} */
  keys = new Map();
  /** @type {((key: string, value: string, revision: string) => void)[]} */
  listeners = [];
  /** @type {Set<(events: any[]) => void>} of all events of a revision */
  watchers = new Set();
  #events = [];

  /** @param {{ compare?: any[], success?: any[], failure?: any[] }} transaction */
  carryOut(transaction) {
    for (const operations of [transaction.success, transaction.failure]) {
      checkWrites(operations ?? []);
    }
    this.revision += 1;
    const answer = this.#run(transaction);
    this.#notify();
    return { revision: String(this.revision), ...answer };
  }

  /** Removes all keys of a session, as at the end of its lease. @param {string} leaseId */
  expire(leaseId) {
    this.revision += 1;
    for (const key of this.keys.keys()) if (key.includes(`/${leaseId}`)) this.#remove(key);
    this.#notify();
  }

  #notify() {
    const events = this.#events.splice(0);
    for (const watcher of this.watchers) watcher(events);
  }

  #remove(key) {
    const previous = this.keys.get(key);
    this.keys.delete(key);
    const revision = String(this.revision);
    this.#events.push({ isPut: false, key, value: '', revision, previous });
  }

  /** @param {any[]} success */
  read(success) {
    return { revision: String(this.revision), ...this.#run({ success }) };
  }

  #run({ compare = [], success = [], failure = [] }) {
    const succeeded = compare.every((it) => this.#holds(it));
    return { succeeded, responses: (succeeded ? success : failure).map((op) => this.#do(op)) };
  }

  #find(range) {
    const isWithin = within(range);
    return [...this.keys].filter(([key]) => isWithin(key));
  }

  /** Compares create revisions, or mod revisions: they are equal, greater or less. */
  #holds({ result, create_revision: created, mod_revision: changed, ...range }) {
    const revision = created ?? changed;
    const found = this.#find(range).map(([, it]) => (changed ? it.changed : it.created));
    if (found.length === 0 && (range.range_end === undefined || result === 1)) found.push(0);
    const than = Number(revision);
    return found.every((it) => [it === than, it > than, it < than][result]);
  }

  #do({ request_put: written, request_range: range, request_txn: inner, ...others }) {
    if (inner !== undefined) return { response_txn: this.#run(inner) };
    if (range !== undefined) return { response_range: this.#read(range) };
    if (written === undefined) {
      for (const [key] of this.#find(others.request_delete_range)) this.#remove(key);
      return {};
    }
    const [key, { revision }] = [textOf(written.key), this];
    const created = this.keys.get(key)?.created ?? revision;
    this.keys.set(key, { value: written.value, created, changed: revision });
    const value = String(written.value);
    this.#events.push({ isPut: true, key, value, revision: String(revision) });
    for (const listen of this.listeners) listen(key, value, String(revision));
    return {};
  }

  #read({ limit, sort_order: order, max_create_revision, ...range }) {
    const max = Number(max_create_revision ?? Infinity);
    const all = this.#find(range).filter(([, { created }]) => created <= max);
    if (order !== undefined && textOf(range.key).includes('/q/')) this.sortedReads += 1;
    all.sort(([one, a], [other, b]) =>
      order === undefined ? (one < other ? -1 : 1) : a.created - b.created,
    );
    if (order === DESCENDING) all.reverse();
    const kvs = all.slice(0, limit === undefined ? all.length : Number(limit));
    return {
      count: String(all.length),
      more: kvs.length < all.length,
      kvs: kvs.map(([key, { value, created, changed }]) => ({
        key: Buffer.from(key),
        value,
        create_revision: String(created),
        mod_revision: String(changed),
      })),
    };
  }
}

/** A session, with one lock; its changes may be held up, or refused. */
class PlayedSession {
  lease;
  leaseId;
  entries = new EntryOrder();
  isOver = false;
  /** @type {string[]} of its requests */
  notices = [];
  watched = [];
  /** The answer to a change. @type {Error | undefined} */
  refusal;
  /** The changes on their way, if they wait for the test. @type {any[] | undefined} */
  changes;
  /** The events on their way, if they wait for the test. @type {(() => void)[] | undefined} */
  events;
  #etcd;

  /**
   * @param {PlayedEtcd} etcd
   * @param {string} lease
   */
  constructor(etcd, lease) {
    this.#etcd = etcd;
    this.lease = lease;
    this.leaseId = toLeaseId(lease);
    this.ids = new RequestIds(this.leaseId);
    const note = (what) => (request) => this.notices.push(`${what} ${request.number}`);
    /** @type {any} */
    const host = {
      onGranted: note('granted'),
      onQueued: note('queued'),
      onMissed: note('missed'),
      onFailed: note('failed'),
      onContentionChanged: ({ number }, priority) => this.notices.push(`${priority} for ${number}`),
      onLost: ({ number }, why) =>
        this.notices.push(why === 'stolen' ? `lost ${number}` : `lost ${number} ${why}`),
      onLeft: ({ number }, loss) =>
        this.notices.push(loss === undefined ? `ended ${number}` : `ended ${number} ${loss}`),
      onIdle: () => this.onIdle(),
    };
    this.lock = new NameLock(NAME, /** @type {any} */ (this), bucket, host);
    const own = bucket.notifications(this.leaseId);
    etcd.listeners.push((key, value, revision) => {
      const request = this.ids.find(key.slice(own.length));
      if (!key.startsWith(own) || request === undefined) return;
      queueMicrotask(() => this.lock.onNotice(request, JSON.parse(value), revision));
    });
  }

  onIdle() {}

  watches = {
    add: (watched) => {
      this.watched.push(watched);
      const onEvents = this.#watcherOf(watched);
      this.#etcd.watchers.add(onEvents);
      return { cancel: () => this.#etcd.watchers.delete(onEvents), ready: Promise.resolve() };
    },
  };

  #watcherOf({ key: from, end, only, onEvents }) {
    return (all) => {
      const isWithin = ({ key }) => (end === undefined ? key === from : key >= from && key < end);
      const isWanted = ({ isPut }) => only === undefined || (only === 'puts') === isPut;
      const events = all.filter((it) => isWithin(it) && isWanted(it));
      if (events.length === 0) return;
      if (this.events === undefined) queueMicrotask(() => onEvents(events));
      else this.events.push(() => onEvents(events));
    };
  }

  identify(requests) {
    this.ids.take(requests);
  }

  async read(success) {
    return this.#etcd.read(success);
  }

  async lastingLease() {
    return '99';
  }

  async change(compare, success, failure, recover) {
    if (this.refusal !== undefined) throw this.refusal;
    const carryOut = () => this.#etcd.carryOut({ compare, success, failure });
    if (this.changes === undefined) return carryOut();
    return new Promise((resolve) => this.changes?.push({ carryOut, recover, resolve }));
  }

  abandon() {
    this.isOver = true;
  }

  /**
   * @param {number} number
   * @param {object} [options]
   */
  request(number, options) {
    const message = { number, name: NAME, mode: 'exclusive', since: 0, ...options };
    const request = new EtcdRequest(new RemoteRequest(/** @type {any} */ (message)));
    this.lock.enter(request);
    return request;
  }
}

module.exports = { NAME, PlayedEtcd, PlayedSession, bucket, turn };
