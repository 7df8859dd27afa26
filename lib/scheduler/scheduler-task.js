'use strict';

const { AsyncResource } = require('node:async_hooks');
const { unwatchAbort, watchAbort } = require('../locks/abort-watch.js');
const { enterState } = require('./scheduling-state.js');

/** @typedef {import('./scheduling-state.js').SchedulingState} SchedulingState */
/** @typedef {import('./task-queue.js').TaskQueue} TaskQueue */

/**
 * What a task tells when it leaves the place where it waits before its time.
 * @typedef {{ withdraw(task: SchedulerTask): void }} WaitingPlace
 */

/**
 * A scheduler task with its task handle: a link in a queue, and the promise that it settles.
 * Standard: Prioritized Task Scheduling, #scheduler-task and #task-handle.
 */
class SchedulerTask {
  /** Set when it is queued; lower is older. */
  enqueueOrder = 0;
  /** When it was queued, by performance.now(). */
  enqueuedAt = 0;
  /** @type {SchedulerTask | null} */
  previous = null;
  /** @type {SchedulerTask | null} */
  next = null;
  /** @type {WaitingPlace | null} its queue, or the delayed tasks; null: it runs or has ended */
  place = null;
  state;
  isContinuation;

  /**
   * @param {SchedulingState} state
   * @param {boolean} isContinuation
   * @param {(value?: unknown) => void} resolve
   * @param {(reason: unknown) => void} reject
   */
  constructor(state, isContinuation, resolve, reject) {
    this.state = state;
    this.isContinuation = isContinuation;
    this.resolve = resolve;
    this.reject = reject;
    if (state.abortSource !== undefined) watchAbort(state.abortSource, this);
  }

  /**
   * The "abort steps".
   * @param {unknown} reason
   */
  abort(reason) {
    this.reject(reason);
    this.place?.withdraw(this);
  }

  /** Runs to its end; nothing is thrown. */
  run() {
    this.steps();
    const { abortSource } = this.state;
    if (abortSource !== undefined) unwatchAbort(abortSource, this);
  }

  /** Of a continuation: what `yield()` gave resolves. */
  steps() {
    this.resolve();
  }
}

/** A task of postTask(): calls back in the async context of that call. */
class PostedTask extends SchedulerTask {
  callback;
  #context = new AsyncResource('SchedulerTask');

  /**
   * @param {SchedulingState} state
   * @param {() => unknown} callback
   * @param {(value?: unknown) => void} resolve
   * @param {(reason: unknown) => void} reject
   */
  constructor(state, callback, resolve, reject) {
    super(state, false, resolve, reject);
    this.callback = callback;
  }

  /** @override */
  steps() {
    this.#context.runInAsyncScope(this.callBack, this);
  }

  callBack() {
    enterState(this.state);
    const { callback } = this;
    try {
      this.resolve(callback());
    } catch (error) {
      this.reject(error);
    }
  }
}

module.exports = { SchedulerTask, PostedTask };
