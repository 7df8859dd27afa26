'use strict';

const { Backoff, sleep } = require('./backoff.js');
const { toAnswerMs } = require('./ttl.js');
const { clearTimeout, setTimeout } = require('../../time.js');

/** @typedef {import('./request-table.js').RequestMessage} RequestMessage */
/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */
/** @typedef {import('../../../types/backend.d.ts').LockEvent} LockEvent */
/** @typedef {import('../../task-priority.js').TaskPriority} TaskPriority */
/** @typedef {import('../../../types/backend.d.ts').LockInspection} LockInspection */
/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LockLossReason */

/** A request of an agent, in each of its sessions. */
class RemoteRequest {
  isHeld = false;
  /** The agent has ended it. */
  isEnding = false;
  /** @type {object | undefined} the session that it was sent to */
  session = undefined;
  /** Its thread is blocked for it. @type {(() => OwnRequest[]) | undefined} */
  findOwn = undefined;
  /** @type {NodeJS.Timeout | undefined} until it is checked again */
  checkTimer = undefined;

  /** @param {RequestMessage} message */
  constructor(message) {
    const { ifAvailable, extras } = message;
    this.message = message;
    this.number = message.number;
    this.name = message.name;
    /** The most requests that may wait, itself included; until it waits. */
    this.maxPending = ifAvailable ? 0 : (extras?.maxPending ?? Infinity);
  }
}

/** @typedef {{ session: string, number: number }} OwnRequest  of a thread that is blocked */

/**
 * One session with the server: it is lost for good, and another one follows.
 * @typedef {object} Session
 * @property {string} id  a number
 * @property {boolean} isOver
 * @property {() => Promise<void>} open  rejects if it cannot begin
 * @property {() => Promise<void>} close  in order, as far as it has begun
 * @property {(request: RemoteRequest) => void} enter
 * @property {(request: RemoteRequest, why: 'timedout' | undefined) => void} leave
 * @property {(request: RemoteRequest) => void} changePriority  as its message says
 * @property {(request: RemoteRequest) => void} watchContention  of a held lock
 * @property {(name: string, min: number) => Promise<boolean>} isLocked
 * @property {(name: string, max: number) => Promise<LockDetail[]>} holdersOf
 * @property {() => Promise<LockInspection>} inspect
 * @property {(request: RemoteRequest, own: OwnRequest[]) => Promise<boolean>} wouldSelfDeadlock
 * @property {(id: number, name: string | undefined, hasMissed: boolean) => void} watch
 * @property {(id: number) => void} unwatch
 * @property {object} status
 */

/**
 * @typedef {object} SessionHost  the events of a session
 * @property {(request: RemoteRequest, token: string) => void} onGranted
 * @property {(request: RemoteRequest) => void} onQueued
 * @property {(request: RemoteRequest) => void} onMissed
 * @property {(request: RemoteRequest, priority: TaskPriority | null) => void} onContentionChanged
 *   of a held lock: the highest priority of the requests that wait has changed
 * @property {(request: RemoteRequest, error: unknown) => void} onFailed
 * @property {(request: RemoteRequest, reason: LockLossReason) => void} onLost
 * @property {(request: RemoteRequest, reason: LockLossReason | undefined) => void} onLeft
 * @property {(id: number, events: LockEvent[]) => void} onEvents
 * @property {(leftMs: number) => void} onExtended
 * @property {() => void} onSessionLost  after which it says nothing more
 */

/**
 * An engine in the thread of a session.
 * @typedef {object} SessionEngine
 * @property {number} ttlMs  after which the server forgets a lost session
 * @property {(host: SessionHost) => Session} create
 * @property {(error: any) => boolean} isFinal  no later session can begin either
 * @property {(error: any) => import('./request-table.js').ErrorMessage} describe
 * @property {() => object} [status]  without a session
 * @property {() => void} [close]  after the last session
 */

/** Rejects what waits for an answer of a session that is over. */
class SessionLost extends Error {}

/** An error message is not worth a longer wait. */
const BRIEF_MS = 500;
/** Releases must not wait for those who name the holders in an error message. */
const MAX_HOLDER_READS = 32;
/** Between two checks whether a thread waits for itself: another request may overtake its own. */
const SELF_CHECK_MS = 1000;
/** A server that is not reached for so long is reported. */
const LONG_SILENCE_MS = 5000;

/**
 * All locks of one agent: its session, one after the other where one is lost, and its requests. It
 * runs in a separate thread.
 */
class LockSession {
  #engine;
  #post;
  #state;
  /** @type {Session | undefined} while there is one */
  #session;
  /** @type {Session | undefined} that begins */
  #opening;
  /** @type {Map<number, RemoteRequest>} */
  #requests = new Map();
  /** @type {Map<number, { name: string | undefined, hasMissed: boolean }>} */
  #watches = new Map();
  /**
   * Wait for the next session.
   * @type {Set<{ resolve: (it: Session) => void, reject: (error: unknown) => void }>}
   */
  #waiting = new Set();
  /** Of thousands that time out together, each name is read for once at a time. */
  #holderReads = /** @type {Map<string, Promise<LockDetail[]>>} */ (new Map());
  /** Of lost sessions whose agent has not received the loss. @type {(() => void)[]} */
  #unreported = [];
  /** @type {Set<Promise<void>>} of lost sessions */
  #ends = new Set();
  #isClosed = false;
  /** Why there is no session, since the last one. @type {string | undefined} */
  #silence;
  /** @type {NodeJS.Timeout | undefined} until that is reported */
  #silenceTimer;
  #counts = { sessions: 0, lost: 0 };

  /**
   * @param {SessionEngine} engine
   * @param {(message: any) => void} post
   * @param {import('./shared-state.js').SharedState} state
   */
  constructor(engine, post, state) {
    this.#engine = engine;
    this.#post = post;
    this.#state = state;
    void this.#open();
  }

  /** @param {RequestMessage} message */
  enqueue(message) {
    const request = new RemoteRequest(message);
    this.#requests.set(request.number, request);
    this.#enter(request);
  }

  /**
   * @param {number} number
   * @param {'timedout' | undefined} why
   */
  end(number, why) {
    const request = this.#requests.get(number);
    if (request === undefined) {
      this.#post({ type: 'ended', number });
    } else if (request.session === undefined) {
      this.#forget(request, { type: 'ended', number });
    } else {
      request.isEnding = true;
      this.#session?.leave(request, why);
    }
  }

  /**
   * @param {number} number
   * @param {TaskPriority} priority
   */
  changePriority(number, priority) {
    const request = this.#requests.get(number);
    if (request?.message.extras === undefined) return;
    request.message.extras.priority = priority; // the next session enters it with this one
    if (!request.isHeld && !request.isEnding) this.#session?.changePriority(request);
  }

  /** @param {number} number */
  watchContention(number) {
    const request = this.#requests.get(number);
    if (request?.isHeld && !request.isEnding) this.#session?.watchContention(request);
  }

  /**
   * A thread waits for this request, and does nothing else.
   * @param {number} number
   * @param {() => OwnRequest[]} findOwn
   */
  findSelfDeadlock(number, findOwn) {
    const request = this.#requests.get(number);
    if (request === undefined) return;
    request.findOwn = findOwn;
    void this.#findSelfDeadlock(request);
  }

  /** @param {string} name @param {number} min */
  isLocked(name, min) {
    return this.#run((session) => session.isLocked(name, min));
  }

  /**
   * @param {string} name
   * @param {number} max
   * @returns {Promise<LockDetail[]>} none, where the server does not answer at once, or holders of
   *   many names are being read
   */
  async holdersOf(name, max) {
    let holders = this.#holderReads.get(name);
    if (holders === undefined) {
      if (this.#holderReads.size >= MAX_HOLDER_READS) return [];
      const read = this.#run((session) => session.holdersOf(name, max));
      const late = sleep(BRIEF_MS).then(() => []);
      holders = Promise.race([read, late]).catch(() => []);
      this.#holderReads.set(name, holders);
      const forget = () => this.#holderReads.delete(name);
      read.then(forget, forget);
    }
    return holders;
  }

  inspect() {
    return this.#run((session) => session.inspect());
  }

  /** @param {number} id @param {string | undefined} name */
  watch(id, name) {
    const isBetween = this.#session === undefined && this.#counts.sessions > 0;
    this.#watches.set(id, { name, hasMissed: isBetween });
    this.#session?.watch(id, name, false);
  }

  /** @param {number} id */
  unwatch(id) {
    this.#watches.delete(id);
    this.#session?.unwatch(id);
  }

  /** The state of the session, for metrics. */
  get status() {
    const connected = this.#session !== undefined;
    const status = this.#session?.status ?? this.#engine.status?.();
    return { connected, requests: this.#requests.size, ...this.#counts, ...status };
  }

  /** The agent has received all losses of the first of the lost sessions. */
  onLossesReported() {
    this.#unreported.shift()?.();
  }

  /** Releases everything. */
  async close() {
    this.#isClosed = true;
    clearTimeout(this.#silenceTimer);
    const session = this.#session ?? this.#opening;
    this.#session = undefined;
    for (const resolve of this.#unreported.splice(0)) resolve();
    await Promise.all([session?.close(), ...this.#ends]);
    this.#engine.close?.();
  }

  async #open() {
    const backoff = new Backoff();
    this.#silenceTimer ??= setTimeout(() => {
      this.#silence ??= `no answer for ${LONG_SILENCE_MS} ms`;
      this.#post({ type: 'silent', reason: this.#silence, isLong: true });
    }, LONG_SILENCE_MS).unref();
    while (!this.#isClosed) {
      const session = this.#engine.create(this.#hostOf(() => session));
      this.#opening = session;
      try {
        await session.open();
        if (!session.isOver && !this.#isClosed) return this.#start(session);
        void session.close();
        if (this.#isClosed) return;
      } catch (error) {
        void session.close();
        if (this.#engine.isFinal(error)) this.#failAll(error);
        if (!(error instanceof SessionLost)) this.#noteSilence(error);
      }
      await backoff.pause();
    }
  }

  /** @param {any} error  of an attempt to begin a session */
  #noteSilence({ message }) {
    if (this.#isClosed) return;
    this.#silence = message;
    this.#post({ type: 'silent', reason: message, isLong: false });
  }

  #endSilence() {
    clearTimeout(this.#silenceTimer);
    this.#silenceTimer = undefined;
    if (this.#silence !== undefined) this.#post({ type: 'reached' });
    this.#silence = undefined;
  }

  /** @param {Session} session */
  #start(session) {
    this.#endSilence();
    this.#counts.sessions += 1;
    this.#session = session;
    this.#state.noteSession(session.id);
    for (const [id, watch] of this.#watches) {
      session.watch(id, watch.name, watch.hasMissed);
      watch.hasMissed = false;
    }
    for (const request of this.#requests.values()) this.#enter(request);
    for (const { resolve } of this.#waiting) resolve(session);
    this.#waiting.clear();
  }

  /**
   * @param {() => Session} own
   * @returns {SessionHost}
   */
  #hostOf(own) {
    return {
      onGranted: (request, token) => {
        request.isHeld = true;
        this.#post({ type: 'granted', number: request.number, token, session: own().id });
      },
      onQueued: (request) => {
        request.maxPending = Infinity; // the next session must not refuse it
        this.#post({ type: 'queued', number: request.number });
        void this.#findSelfDeadlock(request);
      },
      onMissed: (request) => this.#forget(request, { type: 'missed', number: request.number }),
      onFailed: (request, error) => this.#onFailed(request, error),
      onContentionChanged: ({ number }, priority) =>
        this.#post({ type: 'contended', number, priority }),
      onLost: (request, reason) =>
        this.#forget(request, { type: 'lost', number: request.number, reason }),
      onLeft: (request, loss) =>
        this.#forget(request, { type: 'ended', number: request.number, loss }),
      onEvents: (id, events) => this.#post({ type: 'events', id, events }),
      onExtended: (leftMs) => {
        if (!own().isOver) this.#state.noteValidity(leftMs);
      },
      onSessionLost: () => this.#onSessionLost(own()),
    };
  }

  /** @param {Session} session */
  #onSessionLost(session) {
    if (this.#session !== session) return;
    this.#counts.lost += 1;
    this.#session = undefined;
    this.#state.noteSession(undefined);
    for (const request of [...this.#requests.values()]) this.#onDisconnected(request);
    this.#post({ type: 'lostAll' });
    for (const watch of this.#watches.values()) watch.hasMissed = true;
    this.#endLost(session);
    void this.#open();
  }

  /**
   * The locks of a lost session stay in the way of others until its agent has received the loss. An
   * agent whose event loop is blocked keeps them until the server forgets the session.
   * @param {Session} session
   */
  #endLost(session) {
    const isReported = /** @type {Promise<void>} */ (
      new Promise((resolve) => {
        this.#unreported.push(resolve);
        setTimeout(resolve, this.#engine.ttlMs).unref();
      })
    );
    const end = isReported.then(() => session.close());
    this.#ends.add(end);
    void end.then(() => this.#ends.delete(end));
  }

  /** @param {RemoteRequest} request */
  #onDisconnected(request) {
    const { number, isEnding, isHeld } = request;
    const reason = isHeld ? 'disconnected' : undefined;
    if (isEnding) this.#forget(request, { type: 'ended', number, loss: reason });
    else if (isHeld) this.#forget(request, { type: 'lost', number, reason });
    else request.session = undefined; // it enters the next session
  }

  /** @param {unknown} error */
  #failAll(error) {
    for (const request of [...this.#requests.values()]) this.#onFailed(request, error);
    for (const { reject } of this.#waiting) reject(error);
    this.#waiting.clear();
  }

  /**
   * Waits for a session where there is none, or it is lost.
   * @template T
   * @param {(session: Session) => Promise<T>} action
   * @returns {Promise<T>}
   */
  async #run(action) {
    for (;;) {
      const session = this.#session ?? (await this.#nextSession());
      try {
        return await action(session);
      } catch (error) {
        if (!(error instanceof SessionLost)) throw error;
      }
    }
  }

  /**
   * The agent has given up a call long before this rejects: its calls of a long outage are not all
   * made at the end of it.
   * @returns {Promise<Session>}
   */
  #nextSession() {
    return new Promise((resolve, reject) => {
      const entry = { resolve, reject };
      this.#waiting.add(entry);
      setTimeout(
        () => {
          if (this.#waiting.delete(entry)) reject(new Error('there is no session'));
        },
        2 * toAnswerMs(this.#engine.ttlMs),
      ).unref();
    });
  }

  /** @param {RemoteRequest} request */
  #enter(request) {
    if (this.#session === undefined) return;
    request.session = this.#session;
    this.#session.enter(request);
  }

  /** @param {RemoteRequest} request  maybe waiting */
  async #findSelfDeadlock(request) {
    const { findOwn, number } = request;
    const session = this.#session;
    if (findOwn === undefined || session === undefined || request.session !== session) return;
    const search = session.wouldSelfDeadlock(request, findOwn());
    const isFound = await search.catch(() => false); // the next session searches again
    if (isFound) this.#post({ type: 'deadlock', number });
    clearTimeout(request.checkTimer);
    if (isFound || request.isHeld || this.#requests.get(number) !== request) return;
    const check = () => void this.#findSelfDeadlock(request);
    request.checkTimer = setTimeout(check, SELF_CHECK_MS).unref();
  }

  /**
   * A request whose lock is lost during its release may end twice.
   * @param {RemoteRequest} request
   * @param {object} message  its last one
   */
  #forget(request, message) {
    if (this.#requests.get(request.number) !== request) return;
    this.#requests.delete(request.number);
    this.#post(message);
  }

  /**
   * @param {RemoteRequest} request
   * @param {unknown} error
   */
  #onFailed(request, error) {
    const { number } = request;
    this.#forget(request, { type: 'failed', number, error: this.#engine.describe(error) });
  }
}

module.exports = { LockSession, RemoteRequest, SessionLost };
