'use strict';

// etcd in the thread of a session.

const { dateNow } = require('../../time.js');
const { LockSession } = require('../remote/lock-session.js');
const { fromSessionInfo } = require('../remote/session-info.js');
const { AgentWatch } = require('./agent-watches.js');
const { toInspection } = require('./bucket-view.js');
const { checkVersion, EtcdClient } = require('./etcd-client.js');
const { describe } = require('./etcd-errors.js');
const { BucketKeys, toLeaseId, toRequestId } = require('./keys.js');
const { EtcdRequest, NameLock, WAITING, toPriority, wouldSelfDeadlock } = require('./name-lock.js');
const { Session } = require('./session.js');
const { StepQueue } = require('./step-queue.js');
const { get, getAll, keyValuesOf, textOf } = require('./transaction.js');

/** @typedef {import('../remote/lock-session.js').OwnRequest} OwnRequest */
/** @typedef {import('../remote/lock-session.js').RemoteRequest} RemoteRequest */
/** @typedef {import('../remote/lock-session.js').Session} RemoteSession */
/** @typedef {import('../remote/lock-session.js').SessionHost} SessionHost */
/** @typedef {import('./cluster-options.js').ClusterOptions} ClusterOptions */

/** A long answer would be late on a slow network, and given up: all is read in pages. */
const PAGE_KEYS = 200;

/**
 * A session with etcd.
 * @implements {RemoteSession}
 */
class EtcdSession {
  #engine;
  #session;
  #host;
  /** The actions of the agent, in the order of its calls. */
  #steps = new StepQueue((error) => {
    throw error;
  });
  /** @type {Map<string, NameLock>} */
  #names = new Map();
  /** @type {WeakMap<RemoteRequest, EtcdRequest>} */
  #requests = new WeakMap();
  /** @type {Map<number, AgentWatch>} */
  #watches = new Map();

  /**
   * @param {EtcdEngine} engine
   * @param {SessionHost} host
   */
  constructor(engine, host) {
    const { client, bucket, ttlMs } = engine;
    this.#engine = engine;
    this.#host = host;
    this.#session = new Session(client, bucket, ttlMs, {
      onNotice: (request, notice, revision) =>
        this.#names.get(request.name)?.onNotice(request, notice, revision),
      onNoticeGap: () => {
        for (const name of this.#names.values()) name.reread();
      },
      onExtended: (leftMs) => host.onExtended(leftMs),
      onLost: () => {
        this.#end();
        host.onSessionLost();
      },
    });
  }

  /** The number of its lease. */
  get id() {
    return this.#session.lease;
  }

  get isOver() {
    return this.#session.isOver;
  }

  async open() {
    await this.#engine.check(this.#session);
    await this.#session.open(this.#engine.info);
  }

  async close() {
    this.#end();
    await this.#session.close();
  }

  #end() {
    for (const name of this.#names.values()) name.close();
    for (const watch of this.#watches.values()) watch.close();
  }

  /** @param {RemoteRequest} request */
  enter(request) {
    const own = new EtcdRequest(request);
    this.#requests.set(request, own);
    this.#ofName(request, (name) => name.enter(own));
  }

  /**
   * @param {RemoteRequest} request
   * @param {'timedout' | undefined} why
   */
  leave(request, why) {
    const own = this.#find(request);
    own.isEnding = true; // at once
    this.#ofName(request, (name) => name.end(own, why));
  }

  /** @param {RemoteRequest} request */
  watchContention(request) {
    this.#steps.add(async () => {
      // The name of a lost lock may be forgotten: it is not made again, for nothing would end it.
      if (!this.isOver) this.#names.get(request.name)?.watchContention(this.#find(request));
    });
  }

  /** @param {RemoteRequest} request */
  changePriority(request) {
    const priority = toPriority(request.message);
    this.#ofName(request, (name) => name.changePriority(this.#find(request), priority));
  }

  /**
   * A request of this session, perhaps over.
   * @param {RemoteRequest} request
   */
  #find(request) {
    return /** @type {EtcdRequest} */ (this.#requests.get(request));
  }

  /**
   * @param {RemoteRequest} request
   * @param {(name: NameLock) => void} action  after the earlier actions of the agent
   */
  #ofName({ name }, action) {
    this.#steps.add(async () => {
      if (!this.isOver) action(this.#nameOf(name));
    });
  }

  /**
   * @param {string} name
   * @param {number} min
   */
  async isLocked(name, min) {
    await this.#steps.run(async () => {});
    return this.#nameOf(name).isLocked(min);
  }

  /**
   * @param {string} name
   * @param {number} max
   */
  async holdersOf(name, max) {
    const { bucket } = this.#engine;
    const { held: range } = bucket.ofName(name);
    const held = await this.#session.read([getAll(range, { limit: String(max) })]);
    const keyValues = keyValuesOf(held.responses[0]);
    const keys = keyValues.map((/** @type {any} */ { key }) => bucket.parse(textOf(key)));
    const sessions = new Set(keys.map((/** @type {any} */ { lease }) => bucket.sessionKey(lease)));
    const { responses } = await this.#session.read([...sessions].map(get));
    return toInspection([...keyValues, ...responses.flatMap(keyValuesOf)], bucket, dateNow()).held;
  }

  /**
   * With everything that this agent has asked for before, and with nothing that it asks later.
   * @returns {Promise<import('../../../types/backend.d.ts').LockInspection>}
   */
  async inspect() {
    const { bucket } = this.#engine;
    const readPage = (/** @type {object} */ from) =>
      this.#session.read([getAll(bucket.root, { limit: String(PAGE_KEYS), ...from })]);
    let read = await this.#steps.run(async () => {
      const names = [...this.#names.values()];
      await Promise.all(names.map((name) => name.after(async () => {})));
      return readPage({});
    });
    const { revision } = read;
    const keyValues = [];
    for (;;) {
      const { kvs, more } = read.responses[0].response_range;
      keyValues.push(...kvs);
      if (!more) return toInspection(keyValues, bucket, dateNow());
      const key = Buffer.concat([kvs.at(-1).key, Buffer.of(0)]);
      try {
        read = await readPage({ key, revision });
      } catch (/** @type {any} */ error) {
        if (error.isCompacted) return this.inspect();
        throw error;
      }
    }
  }

  /**
   * @param {RemoteRequest} request
   * @param {OwnRequest[]} others  of its thread
   */
  async wouldSelfDeadlock(request, others) {
    const waiting = this.#find(request);
    if (waiting.phase !== WAITING) return false;
    const own = new Set(others.map((it) => toRequestId(toLeaseId(it.session), it.number)));
    return wouldSelfDeadlock(this.#session, this.#engine.bucket, waiting, own);
  }

  /**
   * A watch sees all that its agent does after it.
   * @param {number} id
   * @param {string | undefined} name
   * @param {boolean} hasMissed
   */
  watch(id, name, hasMissed) {
    const post = (/** @type {any[]} */ events) => this.#host.onEvents(id, events);
    const options = { name, hasMissed };
    const watch = new AgentWatch(this.#engine.bucket, this.#session, post, options);
    this.#watches.set(id, watch);
    void this.#steps.run(() => watch.begin());
  }

  /** @param {number} id */
  unwatch(id) {
    this.#watches.get(id)?.close();
    this.#watches.delete(id);
  }

  get status() {
    return { ...this.#engine.status(), ...this.#session.status };
  }

  /** @param {string} name */
  #nameOf(name) {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const onIdle = () => {
      made.close();
      if (this.#names.get(name) === made) this.#names.delete(name);
    };
    const host = { ...this.#host, onIdle };
    const made = new NameLock(name, this.#session, this.#engine.bucket, host);
    this.#names.set(name, made);
    return made;
  }
}

/** The parts that the sessions of an agent share. */
class EtcdEngine {
  describe = describe;
  client;
  bucket;
  ttlMs;
  info;
  #isChecked = false;

  /**
   * @param {ClusterOptions} options
   * @param {import('../remote/session-info.js').SessionInfo} agent
   */
  constructor(options, agent) {
    this.client = new EtcdClient(options);
    this.bucket = new BucketKeys(options.prefix, options.bucket);
    this.ttlMs = options.ttlMs;
    this.info = fromSessionInfo(agent);
  }

  /** @param {SessionHost} host */
  create(host) {
    return new EtcdSession(this, host);
  }

  /** @param {any} error */
  isFinal(error) {
    return error.isFinal === true || error instanceof DOMException;
  }

  /** The cluster is new enough. @param {Session} session */
  async check(session) {
    if (this.#isChecked) return;
    const version = await session.readVersion();
    if (version !== undefined) checkVersion(version);
    this.#isChecked = true;
  }

  status() {
    const { counts, endpoint } = this.client;
    return { endpoint, lease: '', leaseAgeMs: 0, leaseLeftMs: 0, ...counts };
  }

  close() {
    this.client.close();
  }
}

/**
 * @param {ClusterOptions} options
 * @param {import('../remote/session-info.js').SessionInfo} agent
 * @param {import('../remote/session-thread.js').Thread} thread
 */
function openSession(options, agent, { post, state }) {
  return new LockSession(new EtcdEngine(options, agent), post, state);
}

module.exports = { describe, openSession };
