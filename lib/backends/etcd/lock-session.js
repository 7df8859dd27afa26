'use strict';

const { SessionLost } = require('./session-calls.js');
const { get, getAll, keyValuesOf, nested, textOf } = require('./transaction.js');
const { fromSessionInfo } = require('../remote/session-info.js');
const { toInspection } = require('./bucket-view.js');
const { Backoff, sleep } = require('../remote/backoff.js');
const { clearTimeout, dateNow, setTimeout } = require('../../time.js');
const { BucketKeys, decodeText, toLeaseId, toRequestId } = require('./keys.js');
const { NameAccess, serveQueue } = require('./name-lock.js');
const { countOf } = require('./queue-state.js');
const { MAX_BATCH } = require('./step-queue.js');
const { AgentWatches } = require('./agent-watches.js');
const { checkVersion, EtcdClient } = require('./etcd-client.js');
const { describe } = require('./etcd-errors.js');
const { EtcdRequest, HELD, NEW, OVER, WAITING } = require('./etcd-request.js');
const { NameQueue } = require('./name-queue.js');
const { WaitPace, wouldSelfDeadlock } = require('./blocker.js');
const { Session } = require('./session.js');

/** @typedef {import('./cluster-options.js').ClusterOptions} ClusterOptions */
/** @typedef {import('./etcd-errors.js').EtcdError} EtcdError */
/** @typedef {import('./etcd-request.js').RequestMessage} RequestMessage */
/** @typedef {import('./watch-stream.js').WatchEvent} WatchEvent */
/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */

/** Actions that need a session: they wait for the next one where there is none, or it is lost. */
class SessionWaits {
  #current;
  /** @type {{ resolve: (session: Session) => void, reject: (error: unknown) => void }[]} */
  #waiting = [];

  /** @param {() => Session | undefined} current */
  constructor(current) {
    this.#current = current;
  }

  /**
   * @template T
   * @param {(session: Session) => Promise<T>} action
   * @returns {Promise<T>}
   */
  async run(action) {
    for (;;) {
      const session = this.#current() ?? (await this.#next());
      try {
        return await action(session);
      } catch (error) {
        if (!(error instanceof SessionLost)) throw error;
      }
    }
  }

  /** @param {Session} session  has begun */
  begin(session) {
    for (const { resolve } of this.#waiting.splice(0)) resolve(session);
  }

  /** @param {unknown} error  of an attempt to begin one */
  fail(error) {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  /** @returns {Promise<Session>} */
  #next() {
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }
}

/**
 * Reads after everything that was asked for before, and before everything that is asked for later:
 * the queues of all names stand still meanwhile.
 * @template T
 * @param {NameQueue[]} queues
 * @param {() => Promise<T>} read
 * @returns {Promise<T>}
 */
async function readInOrder(queues, read) {
  /** @type {() => void} */
  let goOn = () => {};
  const isRead = new Promise((resolve) => {
    goOn = () => resolve(undefined);
  });
  const haveStopped = queues.map(
    (queue) =>
      new Promise((resolve) => {
        void queue.after(async () => {
          resolve(undefined);
          await isRead;
        });
      }),
  );
  try {
    await Promise.all(haveStopped);
    return await read();
  } finally {
    goOn();
  }
}

/** An error message is not worth a longer wait. */
const BRIEF_MS = 500;

/**
 * Reads the holders of a name's lock, for the message of a timeout.
 * @param {import('./session.js').Session} session
 * @param {import('./keys.js').BucketKeys} bucket
 * @param {string} name
 * @param {number} max
 * @returns {Promise<LockDetail[]>}
 */
async function readHolders(session, bucket, name, max) {
  const { request_range: range } = getAll(bucket.ofName(name).held);
  const held = await session.read([{ request_range: { ...range, limit: String(max) } }]);
  const keyValues = keyValuesOf(held.responses[0]);
  const keys = keyValues.map((/** @type {any} */ { key }) => bucket.parse(textOf(key)));
  const sessionKeys = new Set(keys.map((/** @type {any} */ { lease }) => bucket.sessionKey(lease)));
  const { responses } = await session.read([...sessionKeys].map(get));
  return toInspection([...keyValues, ...responses.flatMap(keyValuesOf)], bucket, dateNow()).held;
}

/**
 * @param {Promise<LockDetail[]>} holders
 * @returns {Promise<LockDetail[]>} none, where the cluster does not answer at once
 */
const briefly = (holders) =>
  Promise.race([holders, sleep(BRIEF_MS).then(() => [])]).catch(() => []);

/** Of thousands that time out together, each name is read for once at a time. */
class HolderReads {
  /** @type {Map<string, Promise<LockDetail[]>>} by name */
  #reads = new Map();

  /**
   * @param {string} name
   * @param {() => Promise<LockDetail[]>} read
   * @returns {Promise<LockDetail[]>} none, where the cluster does not answer at once
   */
  read(name, read) {
    let holders = this.#reads.get(name);
    if (holders === undefined) {
      holders = briefly(read().finally(() => this.#reads.delete(name)));
      this.#reads.set(name, holders);
    }
    return holders;
  }
}

// Grants the locks that a session has left with its lease. The waiters poll, too, but later: in a
// busy queue they do not watch the lock.

/**
 * The calls of a session, without one. A grant needs no guard, however late it comes. It compares
 * that the same request still waits, with no other in its way, and requests ahead of it only leave.
 */
class PlainCalls {
  /** No request is of this session: each grant is reported by notification. */
  leaseId = '';
  #client;

  /** @param {EtcdClient} client */
  constructor(client) {
    this.#client = client;
  }

  /** @param {object[]} ops */
  async read(ops) {
    const { header, responses } = await this.#call(ops);
    return { revision: header.revision, responses };
  }

  /**
   * @param {object[]} compare
   * @param {object[]} success
   * @param {object[]} failure
   */
  async change(compare, success, failure) {
    const { header, responses } = await this.#call([nested(compare, success, failure)]);
    return { revision: header.revision, ...responses[0].response_txn };
  }

  /** @param {object[]} success @returns {Promise<any>} */
  #call(success) {
    return this.#client.call('KV', 'Txn', { success }, this.#client.lateMs);
  }
}

/**
 * @param {EtcdClient} client
 * @param {BucketKeys} bucket
 * @param {string[]} names
 * @throws EtcdError (rejects)
 */
async function serveNames(client, bucket, names) {
  const calls = /** @type {any} */ (new PlainCalls(client));
  for (let start = 0; start < names.length; start += MAX_BATCH) {
    const some = names.slice(start, start + MAX_BATCH);
    const { responses } = await calls.read(some.map((name) => countOf(bucket.ofName(name).queue)));
    for (const [index, name] of some.entries()) {
      if (responses[index].response_range.count === '0') continue;
      const access = new NameAccess(name, calls, bucket);
      await serveQueue(access, async (head, rest) => {
        return (await access.grant(head, rest)) !== undefined;
      });
    }
  }
}

/**
 * The names whose locks hang on a lease, of all buckets.
 * @param {EtcdClient} client
 * @param {string} lease
 * @param {string} prefix  of the keys of all buckets
 * @returns {Promise<Map<string, Set<string>>>} by bucket
 * @throws EtcdError (rejects)
 */
async function namesOfLease(client, lease, prefix) {
  const request = { ID: lease, keys: true };
  const { keys } = await client.call('Lease', 'LeaseTimeToLive', request, client.lateMs);
  const found = new Map();
  for (const key of keys.map(textOf)) {
    const [bucket, n, name, list] = key.slice(prefix.length + 1).split('/');
    if (!key.startsWith(`${prefix}/`) || n !== 'n' || list !== 'h') continue;
    const names = found.get(bucket) ?? new Set();
    found.set(bucket, names.add(decodeText(name)));
  }
  return found;
}

/**
 * Ends the session of a process that has died, and grants its locks to those who are next.
 * @param {EtcdClient} client
 * @param {string} lease
 * @param {string} prefix
 * @throws EtcdError (rejects)
 */
async function revokeDead(client, lease, prefix) {
  const found = await namesOfLease(client, lease, prefix).catch(() => new Map());
  await client.call('Lease', 'LeaseRevoke', { ID: lease }, client.lateMs);
  for (const [bucket, names] of found) {
    await serveNames(client, new BucketKeys(prefix, decodeText(bucket)), [...names]);
  }
}

/**
 * Ends a session, and grants the locks that it had, once its agent has received the end.
 * @param {EtcdClient} client
 * @param {BucketKeys} bucket
 * @param {{ session: import('./session.js').Session | undefined, isReported?: Promise<void>,
 *   queues: import('./name-queue.js').NameQueue[] }} over  all of its queues
 */
async function endSession(client, bucket, { session, isReported, queues }) {
  const held = queues.filter(({ isHeld }) => isHeld).map(({ name }) => name);
  for (const queue of queues) queue.close();
  await isReported;
  await session?.close();
  if (held.length === 0 || client.isClosed) return;
  await serveNames(client, bucket, held).catch(() => {}); // their waiters poll, too
}

/**
 * Sessions of an agent that are lost. Their keys in the cluster are in the way of others, and are
 * removed when the agent has received the loss. An agent whose event loop is blocked continues with
 * its locks: it owns them until the lease runs out.
 */
class LostSessions {
  #client;
  #bucket;
  #ttlMs;
  /** Of sessions whose agent has not received the loss. @type {(() => void)[]} */
  #unreported = [];
  /** @type {Set<Promise<void>>} */
  #ends = new Set();

  /**
   * @param {import('./etcd-client.js').EtcdClient} client
   * @param {import('./keys.js').BucketKeys} bucket
   * @param {number} ttlMs
   */
  constructor(client, bucket, ttlMs) {
    this.#client = client;
    this.#bucket = bucket;
    this.#ttlMs = ttlMs;
  }

  /**
   * To be called before its requests are notified.
   * @param {Session} session
   * @param {NameQueue[]} queues  all of it
   * @param {() => void} leaveMachine  the others of this machine may end it, too
   */
  add(session, queues, leaveMachine) {
    /** @type {Promise<void>} */
    const isReported = new Promise((resolve) => {
      this.#unreported.push(resolve);
      setTimeout(resolve, this.#ttlMs).unref(); // the lease has run out
    });
    void isReported.then(leaveMachine);
    const end = endSession(this.#client, this.#bucket, { session, isReported, queues });
    this.#ends.add(end);
    void end.then(() => this.#ends.delete(end));
  }

  /** The agent has received all losses of the first of them. */
  onReported() {
    this.#unreported.shift()?.();
  }

  /** No agent remains that might receive a loss. */
  async close() {
    for (const resolve of this.#unreported.splice(0)) resolve();
    await Promise.all(this.#ends);
  }
}

/** A cluster that is not reached for so long is reported. */
const LONG_SILENCE_MS = 5000;

/**
 * All locks of one agent: its session, one after the other where one is lost, and its requests.
 */
class LockSession {
  #options;
  #client;
  #bucket;
  #info;
  #post;
  #onSession;
  #onExtended;
  /** The machine may know that the session is over. */
  #leaveMachine = ignore;
  #lostSessions;
  /** @type {Session | undefined} while there is one */
  #session;
  /** @type {Session | undefined} that begins */
  #opening;
  #waits = new SessionWaits(() => this.#session);
  /** @type {Map<string, NameQueue>} */
  #queues = new Map();
  /** @type {Map<number, EtcdRequest>} */
  #requests = new Map();
  #watches;
  #pace = new WaitPace();
  #holderReads = new HolderReads();
  /** @type {Promise<unknown> | undefined} that the last inspection has read all */
  #reading;
  #isClosed = false;
  #isChecked = false;
  /** Why there is no session, since the last one. */
  #silence = '';
  /** @type {NodeJS.Timeout | undefined} until that is reported */
  #silenceTimer;
  counts = { sessions: 0, lost: 0, revoked: 0 };

  /**
   * @param {ClusterOptions} options
   * @param {import('../remote/session-info.js').SessionInfo} info
   * @param {(message: any) => void} post
   * @param {object} [thread]
   * @param {(session: Session | undefined) => () => void} [thread.onSession]  has begun, or is
   *   gone; returns the last step, for the time after the use of its locks
   * @param {(leftMs: number) => void} [thread.onExtended]  the session
   */
  constructor(options, info, post, { onSession = () => ignore, onExtended = ignore } = {}) {
    this.#options = options;
    this.#info = fromSessionInfo(info);
    this.#post = post;
    this.#onSession = onSession;
    this.#onExtended = onExtended;
    this.#client = new EtcdClient(options);
    this.#bucket = new BucketKeys(options.prefix, options.bucket);
    this.#lostSessions = new LostSessions(this.#client, this.#bucket, options.ttlMs);
    this.#watches = new AgentWatches(this.#bucket, (id, events) =>
      post({ type: 'events', id, events }),
    );
    this.#open();
  }

  /** @param {RequestMessage} message */
  enqueue(message) {
    const request = new EtcdRequest(message);
    this.#requests.set(request.number, request);
    this.#watches.after(() => this.#enter(request));
  }

  /**
   * @param {number} number
   * @param {'timedout' | undefined} why
   */
  end(number, why) {
    const request = this.#requests.get(number);
    if (request === undefined) {
      this.#post({ type: 'ended', number });
    } else if (!this.#isEntered(request)) {
      this.#onEnded(request);
    } else {
      request.isEnding = true;
      this.#watches.after(() => this.#end(request, why));
    }
  }

  /**
   * @param {EtcdRequest} request
   * @param {'timedout' | undefined} why
   */
  #end(request, why) {
    if (this.#requests.get(request.number) !== request) return; // with its session
    const queue = this.#queues.get(request.name);
    if (queue === undefined) this.#onEnded(request);
    else queue.end(request, why);
  }

  /**
   * A thread waits for this request, and does nothing else.
   * @param {number} number
   * @param {() => { session: string, number: number }[]} findOthers  requests of the thread
   */
  findSelfDeadlock(number, findOthers) {
    const request = this.#requests.get(number);
    if (request === undefined) return;
    const findOwn = () =>
      new Set(findOthers().map((it) => toRequestId(toLeaseId(it.session), it.number)));
    request.findOwn = findOwn;
    if (request.phase === WAITING) void this.#findSelfDeadlock(request, findOwn);
  }

  /**
   * @param {string} name
   * @param {number} min
   */
  isLocked(name, min) {
    return this.#inOrder(async () => {
      const { exclusive, shared } = await this.#queueOf(name).countHolders();
      return exclusive > 0 || shared >= min;
    });
  }

  /**
   * @param {string} name
   * @param {number} max
   */
  holdersOf(name, max) {
    return this.#holderReads.read(name, () =>
      this.#waits.run((session) => readHolders(session, this.#bucket, name, max)),
    );
  }

  /** With everything that this agent has asked for before, and with nothing that it asks later. */
  inspect() {
    return this.#inOrder(async (session) => {
      const reading = readInOrder([...this.#queues.values()], () =>
        session.read([getAll(this.#bucket.root)]),
      );
      this.#reading = reading.catch(ignore); // the caller receives a failure
      const { responses } = await reading;
      return toInspection(keyValuesOf(responses[0]), this.#bucket, dateNow());
    });
  }

  /**
   * @param {number} id
   * @param {string | undefined} name
   */
  watch(id, name) {
    this.#watches.open(id, name, this.#session);
  }

  /** @param {number} id */
  unwatch(id) {
    this.#watches.close(id);
  }

  /** The state of the session, for metrics. */
  get status() {
    const session = this.#session;
    return {
      connected: session !== undefined,
      endpoint: this.#client.endpoint,
      lease: session?.leaseId ?? '',
      leaseAgeMs: session?.leaseAgeMs ?? 0,
      leaseLeftMs: session?.leftMs ?? 0,
      requests: this.#requests.size,
      ...this.counts,
      ...session?.counts,
      ...this.#client.counts,
      watch: session?.watchCounts,
    };
  }

  /**
   * Ends the session of a process that has died.
   * @param {string} lease
   */
  async revoke(lease) {
    this.counts.revoked += 1;
    // It is gone, or will run out.
    await revokeDead(this.#client, lease, this.#options.prefix).catch(ignore);
  }

  /** The agent has received all losses of a session. */
  onLossesReported() {
    this.#lostSessions.onReported();
  }

  /** Gives everything back. */
  async close() {
    this.#isClosed = true;
    clearTimeout(this.#silenceTimer);
    this.#watches.closeAll();
    const session = this.#session ?? this.#opening;
    this.#session = undefined;
    const queues = [...this.#queues.values()];
    const end = endSession(this.#client, this.#bucket, { session, queues });
    await Promise.all([end, this.#lostSessions.close()]);
    this.#leaveMachine();
    this.#client.close();
  }

  async #open() {
    const backoff = new Backoff();
    this.#silenceTimer ??= setTimeout(() => {
      this.#silence ||= `no answer for ${LONG_SILENCE_MS} ms`;
      this.#post({ type: 'silent', reason: this.#silence, isLong: true });
    }, LONG_SILENCE_MS).unref();
    while (!this.#isClosed) {
      const host = {
        onNotification: (/** @type {EtcdRequest} */ request, /** @type {WatchEvent} */ event) =>
          this.#queues.get(request.name)?.onNotification(request, event),
        onNotificationGap: () => this.#onNotificationGap(),
        onExtended: this.#onExtended,
        onLost: () => this.#onSessionLost(session),
      };
      const session = new Session(this.#client, this.#bucket, this.#options.ttlMs, host);
      this.#opening = session;
      try {
        await this.#checkCluster(session);
        await session.open(this.#info);
        this.#start(session);
        return;
      } catch (error) {
        void session.close();
        if (/** @type {EtcdError} */ (error).isFinal || error instanceof DOMException) {
          this.#failAll(error);
        }
        this.#noteSilence(error);
        await backoff.pause();
      }
    }
  }

  /** @param {any} error  of an attempt to begin a session */
  #noteSilence({ message }) {
    if (message === '' || this.#isClosed) return; // the session was over before it had begun
    this.#silence = message;
    this.#post({ type: 'silent', reason: message, isLong: false });
  }

  #endSilence() {
    clearTimeout(this.#silenceTimer);
    this.#silenceTimer = undefined;
    if (this.#silence !== '') this.#post({ type: 'reached' });
    this.#silence = '';
  }

  /** @param {Session} session */
  async #checkCluster(session) {
    if (this.#isChecked) return;
    const version = await session.readVersion();
    if (version !== undefined) checkVersion(version);
    this.#isChecked = true;
  }

  /** @param {Session} session */
  #start(session) {
    if (this.#isClosed || session.isOver) {
      void session.close();
      if (!this.#isClosed) this.#open();
      return;
    }
    this.#endSilence();
    this.counts.sessions += 1;
    this.#session = session;
    this.#leaveMachine = this.#onSession(session);
    this.#watches.onSession(session);
    this.#watches.after(() => {
      if (this.#session !== session) return;
      for (const request of this.#requests.values()) this.#enter(request);
      this.#waits.begin(session);
    });
  }

  /** @param {Session} session */
  #onSessionLost(session) {
    if (this.#session !== session) return;
    this.counts.lost += 1;
    this.#session = undefined;
    this.#onSession(undefined);
    const queues = [...this.#queues.values()];
    this.#queues.clear();
    this.#lostSessions.add(session, queues, this.#leaveMachine);
    for (const request of [...this.#requests.values()]) this.#onDisconnected(request);
    this.#post({ type: 'lostAll' });
    this.#watches.onSessionLost();
    this.#open();
  }

  /** @param {EtcdRequest} request */
  #onDisconnected(request) {
    const wasHeld = request.phase === HELD;
    if (wasHeld) request.loss = 'disconnected';
    if (request.isEnding || request.phase === OVER) this.#onEnded(request);
    else if (wasHeld) this.#onLost(request, 'disconnected');
    else request.phase = NEW; // asks again in the next session
  }

  /** @param {unknown} error */
  #failAll(error) {
    for (const request of [...this.#requests.values()]) this.#onFailed(request, error);
    this.#waits.fail(error);
  }

  /**
   * Sees all that was asked for before.
   * @template T
   * @param {(session: Session) => Promise<T>} action
   * @returns {Promise<T>}
   */
  #inOrder(action) {
    return new Promise((resolve, reject) => {
      this.#watches.after(() => void this.#waits.run(action).then(resolve, reject));
    });
  }

  /** @param {EtcdRequest} request  which may be over, or wait for the next session */
  #enter(request) {
    if (this.#session === undefined || this.#isEntered(request)) return;
    if (this.#requests.get(request.number) !== request) return;
    request.leaseId = this.#session.leaseId;
    this.#queueOf(request.name).enqueue(request);
  }

  /** The cluster may know of it in this session. @param {EtcdRequest} request */
  #isEntered({ leaseId }) {
    return leaseId === this.#session?.leaseId;
  }

  /** @param {string} name */
  #queueOf(name) {
    let queue = this.#queues.get(name);
    if (queue === undefined) {
      const session = /** @type {Session} */ (this.#session);
      queue = new NameQueue(name, session, this.#bucket, {
        onGranted: ({ number, token }) =>
          this.#post({ type: 'granted', number, token, session: session.lease }),
        onQueued: (request) => this.#onQueued(request),
        onMissed: (request) => this.#forget(request, { type: 'missed', number: request.number }),
        onFailed: (request, error) => this.#onFailed(request, error),
        onLost: (request, reason) => this.#onLost(request, reason),
        onEnded: (request) => this.#onEnded(request),
        onIdle: (/** @type {object} */ idle) => {
          if (this.#queues.get(name) === idle) this.#queues.delete(name);
        },
        onWaited: (ms) => this.#pace.note(name, ms),
        checkAfterMs: () => this.#pace.checkAfterMs(name),
      });
      this.#queues.set(name, queue);
      if (this.#reading !== undefined) void queue.after(async () => this.#reading);
    }
    return queue;
  }

  /** @param {EtcdRequest} request */
  #onQueued(request) {
    const { number, findOwn } = request;
    this.#post({ type: 'queued', number });
    if (findOwn !== undefined) void this.#findSelfDeadlock(request, findOwn);
  }

  /**
   * @param {EtcdRequest} request  waiting
   * @param {() => Set<string>} findOwn
   */
  async #findSelfDeadlock(request, findOwn) {
    const session = /** @type {Session} */ (this.#session);
    const check = wouldSelfDeadlock(session, this.#bucket, request, findOwn);
    const isFound = await check.catch(() => false); // the next session looks again
    if (isFound) this.#post({ type: 'deadlock', number: request.number });
  }

  #onNotificationGap() {
    for (const queue of this.#queues.values()) queue.reread();
  }

  /**
   * @param {EtcdRequest} request
   * @param {object} message
   */
  #forget(request, message) {
    if (this.#requests.get(request.number) === request) this.#requests.delete(request.number);
    this.#post(message);
  }

  /**
   * @param {EtcdRequest} request
   * @param {unknown} error
   */
  #onFailed(request, error) {
    this.#forget(request, { type: 'failed', number: request.number, error: describe(error) });
  }

  /**
   * @param {EtcdRequest} request
   * @param {import('../../../types/backend.d.ts').LockLossReason} reason
   */
  #onLost(request, reason) {
    this.#forget(request, { type: 'lost', number: request.number, reason });
  }

  /** @param {EtcdRequest} request */
  #onEnded(request) {
    this.#forget(request, { type: 'ended', number: request.number, loss: request.loss });
  }
}

/** Ignores a failure: a key that could not be removed goes with its lease. */
function ignore() {}

module.exports = { endSession, revokeDead, LockSession };
