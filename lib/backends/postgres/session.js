'use strict';

const { createHash } = require('node:crypto');
const { SessionLost } = require('../remote/lock-session.js');
const { fromSessionInfo, toSessionInfo } = require('../remote/session-info.js');
const { steadyNow } = require('../remote/steady-clock.js');
const { Backoff } = require('../remote/backoff.js');
const { WaitPath } = require('../wait-path.js');
const {
  clearInterval,
  clearTimeout,
  setImmediate,
  setInterval,
  setTimeout,
} = require('../../time.js');
const { answerWithin, checkSchema, connect } = require('./connection.js');
const { DeathWatch } = require('./death-watch.js');
const { escape, fromDetails, toAscii, toDetails, toKey, toName } = require('./names.js');
const { FUNCTIONS } = require('./schema.js');
const { isAnswer, isFinal, isForAll, isSchemaGone } = require('./postgres-errors.js');
const { Step, statementsOf } = require('./step.js');

/** @typedef {import('../remote/lock-session.js').OwnRequest} OwnRequest */
/** @typedef {import('../remote/lock-session.js').RemoteRequest} RemoteRequest */
/** @typedef {import('../remote/lock-session.js').Session} Session */
/** @typedef {import('../remote/lock-session.js').SessionHost} SessionHost */
/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */
/** @typedef {import('../../../types/backend.d.ts').LockInspection} LockInspection */
/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LockLossReason */
/** @typedef {import('../../../types/scheduler.d.ts').TaskPriority} TaskPriority */

/** @typedef {{ name: string, text: string }} Query  that the server plans once for a session */

/** @param {string} name @param {string} text @returns {Query} */
const planned = (name, text) => ({ name: `holdfast_${name}`, text });

const BURY = planned('bury', `SELECT ${FUNCTIONS}.bury($1, $2, $3, $4)`);
/** As the role of the login: ALTER ROLE … SET role may have made it another one. */
const CANCEL = "SELECT pg_cancel_backend($1) FROM set_config('role', 'none', true)";
const CONTENTION = planned('contention', `SELECT ${FUNCTIONS}.watch_contention($1, $2, $3, $4)`);
/** How many hold a name's lock. */
const LOCKED = planned(
  'locked',
  `SELECT count(*) FILTER (WHERE mode = 'x')::int, count(*) FILTER (WHERE mode = 's')::int
  FROM ${FUNCTIONS}.holders($1, $2, $3, NULL)`,
);
/** It needs the tables, the functions, and the rights on them. */
const PING = planned(
  'ping',
  `SELECT session FROM holdfast.sessions
  WHERE session = $1 AND ${FUNCTIONS}.alive(session, session)`,
);
const OVERDUE = planned('overdue', `SELECT key, session FROM ${FUNCTIONS}.overdue($1, $2, $3)`);
/** Sessions of the bucket that have died. The limit bounds the locks that alive() takes. */
const DEAD_SESSIONS = planned(
  'dead_sessions',
  `SELECT NULL, session FROM holdfast.sessions
  WHERE bucket = $1 AND NOT ${FUNCTIONS}.alive(session, $2) LIMIT 50`,
);
/** Of a name, up to a request, which is the last one. */
const QUEUE = `
  SELECT session, number::float8, mode, state, max_shared FROM holdfast.requests
  WHERE bucket = $1 AND key = $2 AND state <> 'g' AND ticket <= (
    SELECT ticket FROM holdfast.requests WHERE session = $3 AND number = $4 AND state = 'w'
  ) ORDER BY ticket`;

/** By their numbers in the tables. @type {TaskPriority[]} */
const PRIORITIES = ['background', 'user-visible', 'user-blocking'];
/** Of `maxPending`, for the server: any number. */
const ANY_NUMBER = 2 ** 31 - 1;
const MAX_BATCH = 50;
const MAX_BATCH_BYTES = 2 ** 18;
const PAGE_ROWS = 200;
/** Names of which a session remembers a ticket. */
const MAX_FLOORS = 1000;
/**
 * Deaths that no notice reports: of one of several holders, of a watcher, of a second blocker, of a
 * waiter, for the holder that inherits its priority, or of a session without waiters, for a watch.
 */
const SWEEP_MS = 1000;
const MAX_TIMER_MS = 2 ** 31 - 1;
/** The epoch of a session that must not grant a lock yet; see open(). */
const NO_GRANTS = '0';
/** The shortest limit for the call that creates the schema. */
const SCHEMA_MS = 10_000;
/**
 * The part of the TTL after which this side counts the session as lost. The server ends it after
 * 0.95 TTL at the earliest, and this side checks it every 0.05 TTL.
 */
const VALID_PART = 0.8;

/** A request in this session. */
class Entry {
  isAnswered = false;
  /** The server has answered that it waits. */
  isWaiting = false;
  isHeld = false;
  isLeaving = false;
  /** The session whose death it watches for; 0: none. @type {number | undefined} */
  blocker = undefined;
  /** The highest priority that waits, once it was reported; -1: none. @type {number | undefined} */
  waiting = undefined;
  /** @type {LockLossReason | undefined} reported before the grant */
  earlyLoss = undefined;
  /** @type {string | undefined} the position in the queue, unless it steals */
  ticket = undefined;

  /** @param {RemoteRequest} request */
  constructor(request) {
    this.request = request;
    this.key = toKey(request.name);
  }

  get number() {
    return this.request.number;
  }
}

/**
 * @typedef {object} Operation
 * @property {import('./step.js').FunctionName} name
 * @property {string} key
 * @property {unknown[]} args  the rest
 * @property {(answer: string | null) => void} onAnswer
 * @property {(error: unknown) => void} onError
 */

/**
 * @typedef {object} Job
 * @property {Operation[] | undefined} operations  of one step
 * @property {number} bytes
 * @property {() => Promise<void>} run
 */

/** The last part of the channel of the events of a bucket. @param {string} bucket  in ASCII */
const toEventChannel = (bucket) =>
  `w_${createHash('md5').update(bucket).digest('hex').slice(0, 16)}`;

/**
 * A session with PostgreSQL: one connection, and a second one while its requests wait.
 * @implements {Session}
 */
class PostgresSession {
  id = '';
  isOver = false;
  #options;
  #bucket;
  #channel = '';
  #isListening = true;
  /** Since the last ping. */
  #wasUsed = true;
  #eventChannel = '';
  #agent;
  #host;
  /** @type {any} a client of pg */
  #client;
  #session = 0;
  #database = 0n;
  #epoch = NO_GRANTS;
  /** @type {Map<number, Entry>} */
  #entries = new Map();
  /** @type {Map<string, { all: number, waiting: number }>} of the entries, by key */
  #entryCounts = new Map();
  /** Steals that wait for the end of the pause; see enter(). @type {Set<Entry>} */
  #lateSteals = new Set();
  /** Those with a blocker; the first one decides for which session to wait. @type {Set<Entry>} */
  #watchers = new Set();
  /** @type {Map<string, string>} the last ticket that an exclusive request held, by key */
  #floors = new Map();
  /** @type {Job[]} that wait for the connection */
  #jobs = [];
  #isBusy = false;
  /** Rejects the call that runs. @type {(error: unknown) => void} */
  #rejectCall = ignore;
  /** @type {Map<string, { at: number, timer: NodeJS.Timeout }>} of the next hold limit, by key */
  #limitTimers = new Map();
  #deaths;
  /** @type {Map<number, { name: string | undefined, lost: number }>} */
  #watches = new Map();
  /** @type {NodeJS.Timeout[]} */
  #timers = [];
  #validUntil = 0;
  #checkedAt = 0;
  #graceUntil = 0;
  /** @type {Promise<void> | undefined} while there is no answer */
  #pinging = undefined;
  /** @type {(() => void)[]} wait until the session is valid */
  #late = [];
  #isSweeping = false;
  #cursors = 0;
  #counts = { roundTrips: 0, roundTripMs: 0, keepAlives: 0 };

  /**
   * @param {import('./postgres-options.js').PostgresOptions} options
   * @param {import('../remote/session-info.js').SessionInfo} agent
   * @param {SessionHost} host
   */
  constructor(options, agent, host) {
    this.#options = options;
    this.#bucket = escape(options.bucket);
    this.#agent = agent;
    this.#host = host;
    const cancel = (/** @type {number} */ pid) => void this.#query(CANCEL, [pid]).catch(ignore);
    this.#deaths = new DeathWatch(options, cancel, (session) => void this.#bury(session));
  }

  async open() {
    this.#client = await connect(this.#options, () => this.#lose());
    if (this.isOver) throw new SessionLost();
    this.#client.on('notification', (/** @type {any} */ it) => {
      this.#whenValid(() => this.#onNotification(it));
    });
    const { ttlMs } = this.#options;
    const schemaMs = Math.max(ttlMs, SCHEMA_MS);
    await answerWithin(schemaMs, this.#client, () => checkSchema(this.#client));
    const start = steadyNow();
    const { session, epoch, pauseMs } = await answerWithin(ttlMs, this.#client, () =>
      this.#register(),
    );
    this.#session = session;
    this.id = this.#idOf(session);
    this.#checkedAt = steadyNow();
    this.#extend(start, this.#checkedAt);
    this.#timers = [
      setInterval(() => {
        void this.#ping();
        this.#endListening();
      }, ttlMs / 3),
      setInterval(() => this.#checkValidity(), ttlMs / 20),
      setInterval(() => void this.#sweep(), SWEEP_MS),
    ].map((timer) => timer.unref());
    if (pauseMs > 0) this.#timers.push(setTimeout(() => this.#endPause(epoch), pauseMs + 1));
    else this.#epoch = epoch;
  }

  async #register() {
    const isolation = 'SET default_transaction_isolation TO "read committed"';
    await this.#client.query(`${isolation}; ${statementsOf(FUNCTIONS)}`);
    const agent = toAscii(fromSessionInfo(this.#agent));
    const [[session, epoch, pauseMs, channels]] = await this.#query(
      `SELECT session, epoch, pause_ms, channels FROM ${FUNCTIONS}.open($1, $2, $3)`,
      [this.#bucket, agent, this.#options.ttlMs],
    );
    this.#database = BigInt(`0x${channels.slice(0, 7)}`);
    this.#eventChannel = `holdfast_${channels}_${toEventChannel(this.#bucket)}`;
    this.#channel = `holdfast_${channels}_${session}`;
    await this.#client.query(`LISTEN ${this.#channel}`);
    const args = [this.#bucket, session, pauseMs > 0 ? NO_GRANTS : epoch];
    await this.#query(`SELECT ${FUNCTIONS}.bury_all($1, $2, $3)`, args);
    return { session, epoch, pauseMs };
  }

  /**
   * Its number in 32 bits, and a random part of its database: the sessions of this thread may be in
   * several ones.
   * @param {number} session
   */
  #idOf = (session) => String((this.#database << 32n) + BigInt(session));

  /** From now on it may grant, and may be granted, what waits. @param {string} epoch */
  #endPause(epoch) {
    this.#epoch = epoch;
    const steals = [...this.#lateSteals];
    this.#lateSteals.clear();
    for (const entry of steals) this.#enter(entry);
    for (const { key } of this.#entries.values()) this.#expireAfter(key, 0);
  }

  /**
   * A session without a request has nothing to receive. Before PostgreSQL 19 each notification
   * wakes all sessions of the database that listen, to whichever channel.
   */
  #endListening() {
    const isIdle = !this.#wasUsed && this.#entries.size === 0;
    this.#wasUsed = false;
    if (!isIdle || !this.#isListening) return;
    this.#isListening = false;
    void this.#query(`UNLISTEN ${this.#channel}`).catch(ignore);
  }

  /** The request that enters next is in the server after this: no grant is missed. */
  #listen() {
    this.#wasUsed = true;
    if (this.#isListening) return;
    this.#isListening = true;
    void this.#query(`LISTEN ${this.#channel}`).catch(() => this.#lose());
  }

  async close() {
    try {
      if (this.#session !== 0 && !this.isOver) {
        for (let hasRows = true; hasRows;) {
          [[hasRows]] = await this.#query(`SELECT ${FUNCTIONS}.close($1, $2, $3)`, this.#own);
        }
      }
    } catch {
      // The end of the connection ends it, too.
    }
    this.#stop();
    this.#client?.connection.stream.destroy();
  }

  /**
   * A steal enters when it can be granted. Two waiting steals would need tickets below a
   * ticket that another session remembers: its requests would not find them (#noteFloor()).
   * @param {RemoteRequest} request
   */
  enter(request) {
    this.#listen();
    const entry = new Entry(request);
    this.#entries.set(request.number, entry);
    const counts = this.#entryCounts.get(entry.key);
    if (counts === undefined) this.#entryCounts.set(entry.key, { all: 1, waiting: 0 });
    else counts.all += 1;
    if (!request.message.steal || this.#epoch !== NO_GRANTS) return this.#enter(entry);
    this.#lateSteals.add(entry);
    this.#host.onQueued(request);
  }

  /** @param {Entry} entry */
  #enter(entry) {
    const { request } = entry;
    const { steal, mode, extras } = request.message;
    const { limit = 0, holdLimit = 0, priority = 'user-visible' } = extras ?? {};
    this.#operate({
      name: 'enter',
      key: entry.key,
      args: [
        request.number,
        mode === 'exclusive' ? 'x' : 's',
        steal,
        Math.min(request.maxPending, ANY_NUMBER),
        limit,
        holdLimit,
        toDetails(request.message),
        this.#floors.get(entry.key) ?? '0',
        PRIORITIES.indexOf(priority),
      ],
      onAnswer: (answer) => this.#onEntered(entry, /** @type {string} */ (answer)),
      onError: (error) => {
        if (isSchemaGone(error)) return this.#lose(); // the next session makes it
        this.#forget(entry);
        this.#host.onFailed(request, error);
      },
    });
  }

  /**
   * @param {RemoteRequest} request
   * @param {'timedout' | undefined} why
   */
  leave(request, why) {
    const entry = this.#entries.get(request.number);
    if (entry === undefined) return;
    this.#lateSteals.delete(entry); // then the server does not know it, and says so
    entry.isLeaving = true;
    this.#setBlocker(entry, 0);
    this.#leave(entry, why, (reason) => {
      this.#forget(entry);
      this.#host.onLeft(request, reason);
    });
  }

  /**
   * @param {Entry} entry
   * @param {'timedout' | undefined} why
   * @param {(reason: LockLossReason | undefined) => void} onLeft
   */
  #leave(entry, why, onLeft) {
    const backoff = new Backoff();
    /** @type {Operation} */
    const operation = {
      name: 'leave',
      key: entry.key,
      args: [entry.number, why ?? ''],
      onAnswer: (reason) => onLeft(/** @type {any} */ (reason) ?? undefined),
      // It stays held until the server knows. A server that is full takes it later. For a role that
      // has lost its rights, or without the schema, only the end of the session ends it.
      onError: (error) => {
        if (isFinal(error) || isForAll(error)) this.#lose();
        else setTimeout(() => this.#operate(operation), backoff.next()).unref();
      },
    };
    this.#operate(operation);
  }

  /** @param {RemoteRequest} request */
  changePriority(request) {
    const { number, message } = request;
    const entry = this.#entries.get(number);
    const { priority } = message.extras ?? {};
    if (priority === undefined || entry === undefined || entry.isHeld || entry.isLeaving) return;
    if (this.#lateSteals.has(entry)) return; // it enters with its present priority
    this.#operate({
      name: 'change_priority',
      key: entry.key,
      args: [number, PRIORITIES.indexOf(priority)],
      onAnswer: ignore,
      // The server has refused the call.
      onError: () => setTimeout(() => this.changePriority(request), SWEEP_MS).unref(),
    });
  }

  /** @param {RemoteRequest} request */
  watchContention(request) {
    const entry = this.#entries.get(request.number);
    if (entry === undefined) return;
    const [bucket, own] = this.#own;
    const report = (/** @type {any[][]} */ [[waiting]]) => {
      // A notification of a later call may arrive before the answer.
      const isNews = waiting !== null && entry.waiting === undefined;
      if (isNews) this.#onContentionChanged(entry, waiting);
    };
    // The server has refused the call.
    const retry = () => {
      if (!this.isOver) setTimeout(() => this.watchContention(request), SWEEP_MS).unref();
    };
    void this.#query(CONTENTION, [bucket, entry.key, own, entry.number]).then(report, retry);
  }

  /** @param {Entry} entry @param {number} waiting */
  #onContentionChanged(entry, waiting) {
    if (!entry.isHeld || entry.isLeaving) return;
    entry.waiting = waiting;
    this.#host.onContentionChanged(entry.request, PRIORITIES[waiting] ?? null);
  }

  /** @param {string} name @param {number} min */
  async isLocked(name, min) {
    const [bucket, own] = this.#own;
    const [[exclusive, shared]] = await this.#query(LOCKED, [bucket, toKey(name), own]);
    return exclusive > 0 || shared >= min;
  }

  /** @param {string} name @param {number} max */
  async holdersOf(name, max) {
    const [bucket, own] = this.#own;
    const key = toKey(name);
    const rows = await this.#query(
      `SELECT $2, 'h', agent, session, number, mode, token, max_shared, hold_ms, details, waited_ms,
        held_ms, priority, overtakes FROM ${FUNCTIONS}.holders($1, $2, $3, $4)`,
      [bucket, key, own, max],
    );
    return rows.map(toLockDetail);
  }

  /**
   * Reads one moment in pages, between which others are answered: a long answer on a slow network
   * does not end the session.
   * @returns {Promise<LockInspection>}
   */
  async inspect() {
    const [bucket, own] = this.#own;
    const cursor = `holdfast_${(this.#cursors += 1)}`;
    await this.#query(
      `DECLARE ${cursor} NO SCROLL CURSOR WITH HOLD FOR
      SELECT key, state, agent, session, number, mode, token, max_shared, hold_ms, details,
        waited_ms, held_ms, priority, overtakes FROM ${FUNCTIONS}.inspect($1, $2)`,
      [bucket, own],
    );
    try {
      /** @type {LockInspection} */
      const found = { held: [], pending: [] };
      for (let page; page === undefined || page.length === PAGE_ROWS;) {
        page = await this.#query(`FETCH ${PAGE_ROWS} FROM ${cursor}`);
        for (const row of page)
          (row[1] === 'h' ? found.held : found.pending).push(toLockDetail(row));
      }
      return found;
    } finally {
      void this.#query(`CLOSE ${cursor}`).catch(ignore);
    }
  }

  /**
   * @param {RemoteRequest} request
   * @param {OwnRequest[]} own
   */
  async wouldSelfDeadlock(request, own) {
    const isOf = new Set(own.map(({ session, number }) => `${session} ${number}`));
    const [bucket, session] = this.#own;
    const values = [bucket, toKey(request.name), session, request.number];
    const [last, ...ahead] = (await this.#query(QUEUE, values)).reverse();
    if (last === undefined) return false;
    const path = new WaitPath(toWaited(last));
    return ahead.some((row) =>
      path.isStoppedBy(toWaited(row), isOf.has(`${this.#idOf(row[0])} ${row[1]}`)),
    );
  }

  /**
   * @param {number} id
   * @param {string | undefined} name
   * @param {boolean} hasMissed
   */
  watch(id, name, hasMissed) {
    this.#watches.set(id, { name, lost: hasMissed ? 1 : 0 });
    if (this.#watches.size > 1) return;
    void this.#beginEvents();
  }

  async #beginEvents() {
    const [bucket, own] = this.#own;
    try {
      await Promise.all([
        this.#query(`LISTEN ${this.#eventChannel}`),
        this.#query(`SELECT ${FUNCTIONS}.watch($1, $2)`, [bucket, own]),
      ]);
    } catch {
      // The server has refused a call.
      if (this.isOver) return;
      this.#noteLostEvent();
      const retry = () => this.#watches.size > 0 && void this.#beginEvents();
      setTimeout(retry, SWEEP_MS).unref();
    }
  }

  #noteLostEvent() {
    for (const watch of this.#watches.values()) watch.lost += 1;
  }

  /** @param {number} id */
  unwatch(id) {
    if (!this.#watches.delete(id) || this.#watches.size > 0) return;
    const [bucket, own] = this.#own;
    void this.#query(`SELECT ${FUNCTIONS}.unwatch($1, $2)`, [bucket, own]).catch(ignore);
    void this.#query(`UNLISTEN ${this.#eventChannel}`).catch(ignore);
  }

  get status() {
    const { host, port, database } = this.#client ?? {};
    return {
      endpoint: `${host}:${port}/${database}`,
      session: String(this.#session || ''),
      leaseLeftMs: Math.max(0, this.#validUntil - steadyNow()),
      ...this.#counts,
    };
  }

  /** @returns {[bucket: string, session: number, epoch: string]} */
  get #own() {
    return [this.#bucket, this.#session, this.#epoch];
  }

  /** Those that follow each other go in one step: one transaction. @param {Operation} operation */
  #operate(operation) {
    const bytes = operation.key.length + operation.args.join('').length;
    const last = this.#jobs.at(-1);
    const isWithLast =
      last?.operations !== undefined &&
      last.operations.length < MAX_BATCH &&
      last.bytes + bytes <= MAX_BATCH_BYTES;
    if (isWithLast) {
      last.operations?.push(operation);
      last.bytes += bytes;
    } else {
      const operations = [operation];
      this.#jobs.push({ operations, bytes, run: () => this.#step(operations) });
    }
    if (this.#isBusy) return;
    this.#isBusy = true;
    // The messages that have arrived with this one come first: a request inside a callback and the
    // release after it are one step.
    setImmediate(() => void this.#runJobs());
  }

  /** One after the other. */
  async #runJobs() {
    for (let job; (job = this.#jobs.shift()) !== undefined;) await job.run();
    this.#isBusy = false;
  }

  /** @param {Operation[]} operations */
  async #step(operations) {
    try {
      const answers = await this.#answersTo(operations);
      for (const [index, { onAnswer }] of operations.entries()) onAnswer(answers[index]);
    } catch (error) {
      if (error instanceof SessionLost) return;
      // A refusal concerns the operation that caused it.
      if (operations.length === 1) operations[0].onError(error);
      else for (const one of operations) await this.#step([one]);
    }
  }

  /**
   * @param {Operation[]} operations
   * @returns {Promise<(string | null)[]>}
   */
  #answersTo(operations) {
    const [bucket, own, epoch] = this.#own;
    /** @type {import('./step.js').FunctionCall[]} */
    const calls = operations.map(({ name, key, args }) => {
      const waits = () => (this.#entryCounts.get(key)?.waiting ?? 0) > 0;
      return [name, [bucket, key, own, epoch, ...args, ...(name === 'enter' ? [waits()] : [])]];
    });
    return this.#exchange((resolve, reject) => {
      this.#client.query(
        new Step(calls, (error, answers) => (error ? reject(error) : resolve(answers))),
      );
    });
  }

  /**
   * Asks the server when everything before is answered.
   * @param {Query | string} query
   * @param {unknown[]} [values]
   * @returns {Promise<any[][]>}
   * @throws SessionLost, or what the server answers (rejects)
   */
  #query(query, values = []) {
    return new Promise((resolve, reject) => {
      const run = () => this.#send(query, values).then(resolve, reject);
      this.#jobs.push({ operations: undefined, bytes: 0, run });
      if (this.#isBusy) return;
      this.#isBusy = true;
      void this.#runJobs();
    });
  }

  /**
   * @param {Query | string} query
   * @param {unknown[]} values
   * @returns {Promise<any[][]>}
   */
  async #send(query, values) {
    const of = typeof query === 'string' ? { text: query } : query;
    const config = { ...of, values, rowMode: 'array' };
    const { rows } = await this.#exchange((resolve, reject) =>
      this.#client.query(config).then(resolve, reject),
    );
    return rows;
  }

  /**
   * @template T
   * @param {(resolve: (answer: T) => void, reject: (error: unknown) => void) => void} send
   * @returns {Promise<T>}
   */
  async #exchange(send) {
    if (this.isOver) throw new SessionLost();
    const start = steadyNow();
    try {
      const answer = await new Promise((resolve, reject) => {
        this.#rejectCall = reject;
        send(resolve, reject);
      });
      const now = steadyNow();
      this.#counts.roundTrips += 1;
      this.#counts.roundTripMs += now - start;
      if (this.id !== '') this.#extend(start, now);
      return answer;
    } catch (error) {
      if (!this.isOver && isAnswer(error)) throw error;
      this.#lose();
      throw new SessionLost();
    }
  }

  /**
   * @param {Entry} entry
   * @param {string} answer
   */
  #onEntered(entry, answer) {
    const { request } = entry;
    entry.isAnswered = true;
    const [outcome, value, ticket, ms] = answer.split(' ');
    entry.ticket = ticket;
    if (outcome === 'g') {
      this.#whenValid(() => this.#onGranted(entry, value));
    } else if (outcome === 'm') {
      this.#forget(entry);
      this.#host.onMissed(request);
    } else if (!entry.isHeld) {
      this.#setWaiting(entry, true);
      if (!entry.isLeaving) this.#host.onQueued(request);
      // A notification of a later call may arrive before the answer.
      if (entry.blocker === undefined) this.#onBlocked(entry, Number(value), ms);
    }
  }

  /**
   * @param {Entry} entry
   * @param {string} token
   */
  #onGranted(entry, token) {
    if (entry.isHeld) return;
    entry.isHeld = true;
    this.#setWaiting(entry, false);
    this.#setBlocker(entry, 0);
    this.#noteFloor(entry);
    const { request, earlyLoss } = entry;
    const { holdLimit = 0 } = request.message.extras ?? {};
    if (holdLimit > 0) this.#expireAfter(entry.key, holdLimit);
    this.#host.onGranted(request, token);
    if (earlyLoss !== undefined) this.#onLost(entry, earlyLoss);
  }

  /**
   * @param {Entry} entry
   * @param {LockLossReason} reason
   */
  #onLost(entry, reason) {
    if (entry.isLeaving) {
      this.#host.onLeft(entry.request, reason); // before the grant to a stealer of this session
      return;
    }
    if (!entry.isHeld) {
      entry.earlyLoss = reason;
      return;
    }
    this.#forget(entry);
    this.#host.onLost(entry.request, reason);
    this.#leave(entry, undefined, ignore); // its row has waited for this
  }

  /**
   * @param {Entry} entry
   * @param {number} session
   * @param {string | undefined} limitMs  until the next hold limit
   */
  #onBlocked(entry, session, limitMs) {
    if (entry.isLeaving || entry.isHeld) return;
    if (limitMs !== undefined) this.#expireAfter(entry.key, Number(limitMs));
    this.#setBlocker(entry, session);
  }

  /** The next requests of the name start their search here. @param {Entry} entry  granted */
  #noteFloor({ key, ticket, request }) {
    const { mode, steal } = request.message;
    if (ticket === undefined || mode !== 'exclusive' || steal) return;
    this.#floors.set(key, ticket);
    if (this.#floors.size <= MAX_FLOORS) return;
    const [oldest] = this.#floors.keys();
    this.#floors.delete(oldest);
  }

  /** @param {Entry} entry */
  #forget(entry) {
    this.#setBlocker(entry, 0);
    if (!this.#entries.delete(entry.number)) return;
    this.#setWaiting(entry, false);
    const { key } = entry;
    const counts = this.#entryCounts.get(key);
    if (counts !== undefined && counts.all > 1) {
      counts.all -= 1;
    } else {
      this.#entryCounts.delete(key);
      clearTimeout(this.#limitTimers.get(key)?.timer);
      this.#limitTimers.delete(key);
    }
  }

  /** @param {Entry} entry @param {boolean} isWaiting */
  #setWaiting(entry, isWaiting) {
    const counts = this.#entryCounts.get(entry.key);
    if (counts !== undefined) counts.waiting += Number(isWaiting) - Number(entry.isWaiting);
    entry.isWaiting = isWaiting;
  }

  /** @param {Entry} entry @param {number} session */
  #setBlocker(entry, session) {
    entry.blocker = session;
    if (session === 0) this.#watchers.delete(entry);
    else this.#watchers.add(entry);
    const [first] = this.#watchers;
    this.#deaths.target = first?.blocker ?? 0;
  }

  /** @param {number} session  whose advisory lock is free */
  async #bury(session) {
    for (const entry of this.#watchers) {
      if (entry.blocker === session) this.#setBlocker(entry, 0);
    }
    const [bucket, own, epoch] = this.#own;
    try {
      for (let hasRows = true; hasRows;) {
        [[hasRows]] = await this.#query(BURY, [bucket, session, own, epoch]);
      }
    } catch (error) {
      this.#onRefusal(error); // the sweep finds it again
    }
  }

  /**
   * The server has refused to find or remove a dead session, or to enforce a hold limit. If the
   * role has lost its rights, the requests would wait for ever: the next session refuses them.
   * @param {unknown} error
   */
  #onRefusal(error) {
    if (isFinal(error)) this.#lose();
  }

  async #sweep() {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    await this.#sweepOnce();
    this.#isSweeping = false;
  }

  async #sweepOnce() {
    let first = Infinity;
    for (const { number, isAnswered, isHeld, waiting = -1 } of this.#entries.values()) {
      const isWaiting = isAnswered && !isHeld;
      if (isWaiting || waiting >= 0) first = Math.min(first, number);
    }
    const [bucket, own] = this.#own;
    /** @type {[Query, unknown[]][]} */
    const queries = [];
    if (this.#watches.size > 0) queries.push([DEAD_SESSIONS, [bucket, own]]);
    if (first < Infinity) queries.push([OVERDUE, [bucket, own, first]]);
    for (const [query, values] of queries) {
      const found = await this.#query(query, values).catch((error) => {
        this.#onRefusal(error);
        return [];
      });
      for (const [key, session] of found) {
        if (session === null) this.#expireAfter(key, 0);
        else await this.#bury(session);
      }
    }
  }

  /**
   * Enforces the hold limits of a name later: at the earliest time that is known. That call returns
   * the next one.
   * @param {string} key
   * @param {number} ms
   */
  #expireAfter(key, ms) {
    const at = steadyNow() + ms;
    const known = this.#limitTimers.get(key);
    if (known !== undefined && known.at <= at) return;
    clearTimeout(known?.timer);
    const expireAgain = (/** @type {number} */ left) => {
      if (this.#entryCounts.has(key) && !this.isOver) this.#expireAfter(key, left);
    };
    const expire = () => {
      this.#limitTimers.delete(key);
      if (this.#epoch === NO_GRANTS) return; // the end of the pause follows
      this.#operate({
        name: 'expire',
        key,
        args: [],
        onAnswer: (left) => left !== null && expireAgain(Number(left)),
        onError: (error) => {
          this.#onRefusal(error);
          expireAgain(SWEEP_MS);
        },
      });
    };
    const wait = Math.min(Math.max(Math.ceil(ms), 0) + 1, MAX_TIMER_MS);
    this.#limitTimers.set(key, { at, timer: setTimeout(expire, wait).unref() });
  }

  /**
   * If this process has not run for long, an answer of the server comes first: a grant counts only
   * while the session is valid. The order of what waits for that is kept.
   * @param {() => void} action
   */
  #whenValid(action) {
    if (this.isOver) return;
    const isValid = steadyNow() < this.#validUntil;
    if (isValid && this.#late.length === 0) {
      action();
    } else {
      this.#late.push(action);
      void this.#ping();
    }
  }

  /** @param {{ channel: string, payload: string }} notification */
  #onNotification({ channel, payload }) {
    if (channel === this.#eventChannel) {
      try {
        this.#onEvent(payload);
      } catch {
        this.#noteLostEvent(); // a role with rights on the tables may send anything
      }
      return;
    }
    const [what, number, value, ms] = payload.split(' ');
    const entry = this.#entries.get(Number(number));
    if (entry === undefined) return;
    if (what === 'g') this.#onGranted(entry, value);
    else if (what === 'l') this.#onLost(entry, /** @type {LockLossReason} */ (value));
    else if (what === 'c') this.#onContentionChanged(entry, Number(value));
    else this.#onBlocked(entry, Number(value), ms);
  }

  /** @param {string} payload */
  #onEvent(payload) {
    const { type, key, number, mode, token, time, agent, priority, overtakes } =
      JSON.parse(payload);
    const name = toName(key);
    for (const [id, watch] of this.#watches) {
      if (watch.name !== undefined && watch.name !== name && toKey(watch.name) !== key) continue;
      const { lost } = watch;
      watch.lost = 0;
      const event = {
        type,
        name: watch.name ?? name,
        mode: toMode(mode),
        ...toSessionInfo(agent),
        requestId: number,
        token: token === null ? null : BigInt(token),
        time,
        lost,
        priority: PRIORITIES[priority],
        overtakes,
      };
      this.#host.onEvents(id, [event]);
    }
  }

  /** Resolves when it is answered, or the session is lost. */
  #ping() {
    if (this.#pinging === undefined) {
      const end = () => {
        this.#pinging = undefined;
        if (this.#late.length > 0 && !this.isOver) void this.#ping(); // it was stopped once more
      };
      const onAnswer = (/** @type {any[][]} */ { length }) => {
        if (length === 0)
          this.#lose(); // the tables were removed, or emptied
        else this.#counts.keepAlives += 1;
      };
      const onError = (/** @type {unknown} */ error) => {
        if (isFinal(error) || isForAll(error)) this.#lose();
      };
      this.#pinging = this.#query(PING, [this.#session]).then(onAnswer, onError).then(end);
    }
    return this.#pinging;
  }

  /**
   * @param {number} start  of a call that was answered
   * @param {number} now
   */
  #extend(start, now) {
    const { ttlMs } = this.#options;
    this.#validUntil = Math.max(this.#validUntil, start + VALID_PART * ttlMs);
    const leftMs = this.#validUntil - now;
    this.#host.onExtended(leftMs);
    if (leftMs > 0) for (const action of this.#late.splice(0)) action();
  }

  /**
   * The session counts as lost when no call was answered for so long. If this process itself has
   * not run, the server may have kept the session: then an answer to a ping decides.
   */
  #checkValidity() {
    const { ttlMs } = this.#options;
    const now = steadyNow();
    const hasStoodStill = now - this.#checkedAt > ttlMs / 4;
    this.#checkedAt = now;
    if (now < this.#validUntil) return;
    if (hasStoodStill) {
      this.#graceUntil = now + (1 - VALID_PART) * ttlMs;
      void this.#ping();
    }
    if (now >= this.#graceUntil) this.#lose();
  }

  /** Its connection, if there still is one, keeps its locks from others until close(). */
  #lose() {
    if (this.isOver) return;
    this.#stop();
    this.#host.onSessionLost();
  }

  #stop() {
    this.isOver = true;
    for (const timer of this.#timers) clearInterval(timer);
    for (const { timer } of this.#limitTimers.values()) clearTimeout(timer);
    this.#deaths.close();
    this.#rejectCall(new SessionLost());
  }
}

function ignore() {}

/** @param {string} mode @returns {'exclusive' | 'shared'} */
const toMode = (mode) => (mode === 'x' ? 'exclusive' : 'shared');

/** @param {any[]} row  of QUEUE */
const toWaited = ([, , mode, state, limit]) => ({
  isQueued: state === 'w',
  request: { mode: toMode(mode), extras: { limit } },
});

/** @param {any[]} row @returns {LockDetail} */
function toLockDetail(row) {
  const [key, state, agent, , number, mode, token, limit, holdLimit, details, ...rest] = row;
  const [waited, held, priority, overtakes] = rest;
  const { name, since, label, callSite, enclosingToken } = fromDetails(details, key);
  return {
    name,
    mode: toMode(mode),
    ...toSessionInfo(agent),
    token: state === 'h' ? BigInt(token) : null,
    label,
    limit,
    holdLimit,
    since,
    waited,
    held: state === 'h' ? held : null,
    requestId: number,
    enclosingToken,
    callSite,
    priority: PRIORITIES[priority],
    overtakes: state === 'h' ? 0 : overtakes,
  };
}

module.exports = { PostgresSession };
