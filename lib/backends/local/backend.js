'use strict';

const { WAS_CLOSED, closedError, managerClosedError } = require('../../errors.js');
const { lazy } = require('../../lazy.js');
const { LoopKeepAlive } = require('../../loop-keep-alive.js');
const { runAtOnce, runSliced } = require('../../sliced.js');
const { RESOLVED, apply, then } = require('../../time.js');
const { createClientId } = require('../client-id.js');
const { LocalLockTable, readLists } = require('./lock-table.js');
const { GRANTED, MISSED, QUEUED } = require('../outcome.js');
const { createRoomChecks } = require('../../stack-room.js');

/** @typedef {import('../../../types/backend.d.ts').LockBackend} LockBackend */
/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */
/** @typedef {import('../../../types/backend.d.ts').LockLossReason} LockLossReason */
/** @typedef {import('../../../types/backend.d.ts').LockOutcome} LockOutcome */
/** @typedef {import('./lock-table.js').LockEntry} LockEntry */

const threadId = lazy(() => require('node:worker_threads').threadId);

const NO_ID = -1;

const needRoomTo = createRoomChecks();

/**
 * The backend for one thread: an agent of a table that lives in this thread's memory. Several of
 * them may share one.
 * @implements {LockBackend}
 */
class LocalBackend {
  /** @type {string | undefined} made at the first use */
  #clientId = undefined;
  /** @type {string | undefined} */
  bucket;
  #table;
  #isClosed = false;
  /**
   * Held and pending entries of this agent, indexed by the request's backendId.
   * @type {(LockEntry | null)[]}
   */
  #entries = [];
  /** @type {number[]} indexes of #entries that are free */
  #freeIds = [];
  /**
   * @type {{ entry: LockEntry, deliver: () => void }[]} reports not yet delivered to requests,
   *   oldest first
   */
  #reports = [];
  /** One reference per queued request. */
  #keepAlive = new LoopKeepAlive();

  /** @param {LocalLockTable} [table] */
  constructor(table = new LocalLockTable()) {
    this.#table = table;
  }

  get place() {
    return `local:${this.bucket ?? ''}`;
  }

  pidFor() {
    return process.pid;
  }

  get threadId() {
    return threadId();
  }

  get clientId() {
    this.#clientId ??= createClientId();
    return this.#clientId;
  }

  /** Identifies the lock table: backends with the same value share their locks. */
  get table() {
    return this.#table;
  }

  /**
   * @param {Request} request
   * @returns {LockOutcome}
   */
  enqueue(request) {
    needRoomTo.enqueue();
    this.#checkOpen();
    const id = this.#freeIds.pop() ?? this.#entries.length;
    request.backendId = id; // the events of the request have it
    this.#entries[id] = null; // taken, also for a request that an event of this one makes
    const entry = this.#table.request(this, request);
    this.#entries[id] = entry;
    if (entry === null) {
      this.#forget(request);
      return MISSED;
    }
    if (entry.isHeld) return GRANTED;
    this.#keepAlive.ref();
    return QUEUED;
  }

  /**
   * @param {Request} request
   * @param {boolean} [isMicrotask]
   * @returns {LockLossReason | undefined}
   */
  release(request, isMicrotask = false) {
    if (!isMicrotask) needRoomTo.release();
    const entry = this.#forget(request);
    if (entry === null) return undefined;
    this.#table.remove(entry);
    return entry.lossReason;
  }

  /**
   * @param {Request} request
   * @param {boolean} [isTimeout]
   */
  cancel(request, isTimeout = false) {
    needRoomTo.cancel();
    const entry = this.#forget(request);
    if (entry === null) return;
    if (entry.isQueued) this.#keepAlive.unref();
    this.#table.remove(entry, isTimeout);
  }

  /** @param {Request} request */
  changePriority({ backendId, extras }) {
    const entry = backendId === NO_ID ? null : this.#entries[backendId];
    if (entry !== null && extras !== undefined) {
      this.#table.changePriority(entry, extras.priority);
    }
  }

  /** @param {Request} request */
  watchContention({ backendId }) {
    const entry = backendId === NO_ID ? null : this.#entries[backendId];
    return entry === null ? null : this.#table.watchContention(entry);
  }

  /**
   * Called by the table when the highest priority of the requests that wait for the lock of a held
   * entry has changed.
   * @param {LockEntry} entry
   * @param {import('../../task-priority.js').TaskPriority | null} priority
   */
  onContentionChanged(entry, priority) {
    this.#report(entry, () => entry.request.contentionChanged(priority));
  }

  /**
   * Always a deadlock: the holders and the requests ahead belong to this very thread.
   * @returns {import('../../../types/backend.d.ts').SyncOutcome}
   */
  waitSync() {
    return 'deadlock';
  }

  snapshot() {
    this.#checkOpen();
    return runAtOnce(readLists(this.#table.snapshot()));
  }

  inspect() {
    this.#checkOpen();
    return runSliced(readLists(this.#table.inspect(this)));
  }

  /**
   * @param {readonly number[]} requestIds
   * @param {import('../../../types/backend.d.ts').WaitWalkOptions} options
   */
  async waitsOf(requestIds, options) {
    this.#checkOpen();
    const starts = requestIds.map((id) => /** @type {LockEntry} */ (this.#entries[id]));
    return runSliced(readLists(this.#table.waitsOf(starts, options, this)));
  }

  /**
   * @param {string} name
   * @param {number} [max]
   */
  holdersOf(name, max = Infinity) {
    return this.#table.holdersOf(name, max, this);
  }

  /**
   * @param {string} name
   * @param {number} [min]
   */
  isLocked(name, min = 1) {
    this.#checkOpen();
    return this.#table.isLocked(name, min);
  }

  /** @param {string | undefined} name */
  watch(name) {
    this.#checkOpen();
    return this.#table.watches.open(this, name);
  }

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#table.watches.closeAllOf(this);
    const entries = this.#entries.filter((entry) => entry !== null && entry.list !== null);
    for (const entry of entries) this.#disconnect(/** @type {LockEntry} */ (entry));
    this.#table.removeAll(/** @type {LockEntry[]} */ (entries));
    this.#keepAlive.end();
    // Synchronously: a callback that was about to run must not run beside the next holder.
    this.#deliverReports();
  }

  /**
   * Called by the table when a queued entry is granted the lock.
   * @param {LockEntry} entry
   */
  onGranted(entry) {
    this.#keepAlive.unref();
    entry.isGrantOnItsWay = true;
    this.#report(entry, () => {
      if (!entry.isGrantOnItsWay) return;
      entry.isGrantOnItsWay = false;
      entry.request.granted();
    });
  }

  /**
   * Called by the table when a held entry loses its lock.
   * @param {LockEntry} entry
   */
  onLost(entry) {
    this.#report(entry, () => this.#reportLoss(entry));
  }

  /** @param {LockEntry} entry  queued or held */
  #disconnect(entry) {
    if (entry.isQueued || entry.isGrantOnItsWay) {
      entry.isGrantOnItsWay = false;
      this.#report(entry, () => {
        this.#forget(entry.request);
        entry.request.failed(closedError());
      });
    } else {
      entry.lossReason = 'disconnected';
      this.#report(entry, () => this.#reportLoss(entry));
    }
  }

  /** @param {LockEntry} entry  with its lossReason */
  #reportLoss(entry) {
    this.#forget(entry.request);
    const reason = /** @type {LockLossReason} */ (entry.lossReason);
    entry.request.lost(reason, reason === 'disconnected' ? WAS_CLOSED : undefined);
  }

  /**
   * Calls `deliver` in a later microtask, unless the request was released or cancelled by then.
   * @param {LockEntry} entry
   * @param {() => void} deliver
   */
  #report(entry, deliver) {
    this.#reports.push({ entry, deliver });
    if (this.#reports.length > 1) return;
    void apply(then, RESOLVED, [() => this.#deliverReports()]);
  }

  #deliverReports() {
    const reports = this.#reports;
    this.#reports = [];
    for (const { entry, deliver } of reports) {
      if (this.#entries[entry.request.backendId] === entry) deliver();
    }
  }

  /**
   * @param {Request} request
   * @returns {LockEntry | null} null when it was removed before
   */
  #forget(request) {
    const id = request.backendId;
    if (id === NO_ID) return null;
    const entry = this.#entries[id];
    this.#entries[id] = null;
    this.#freeIds.push(id);
    request.backendId = NO_ID;
    return entry;
  }

  #checkOpen() {
    if (this.#isClosed) throw managerClosedError();
  }
}

module.exports = { LocalBackend };
