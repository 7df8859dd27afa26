'use strict';

const { AsyncResource } = require('node:async_hooks');
const { types } = require('node:util');
const { unwatchAbort, watchAbort } = require('../locks/abort-listeners.js');
const { Rejection } = require('./promise-resolve.js');
const { callInState } = require('./scheduling-state.js');

/** @typedef {import('./enqueue-clock.js').Stamp} Stamp */
/** @typedef {import('./scheduling-state.js').SchedulingState} SchedulingState */
/** @typedef {InstanceType<ReturnType<typeof asSchedulerTask>>} SchedulerTask */
/** @typedef {import('./promise-resolve.js').Resolve} Resolve */

/**
 * What a task tells when it leaves the place where it waits before its time.
 * @typedef {{ withdraw(task: SchedulerTask): void }} WaitingPlace
 */

/**
 * A scheduler task with its task handle: a link in a queue, and the function that settles its
 * promise. The class is made of what a task is besides, so that it is one object: a hundred
 * thousand may wait.
 * Standard: Prioritized Task Scheduling, #scheduler-task and #task-handle.
 * @param {new (...args: any[]) => object} Base
 */
const asSchedulerTask = (Base) =>
  class extends Base {
    /**
     * @param {SchedulingState} state
     * @param {Resolve} resolve
     */
    constructor(state, resolve) {
      super('SchedulerTask');
      /** The "enqueue order": of two tasks of this thread, less is older. */
      this.order = 0;
      /** @type {Stamp | null} when it was queued */
      this.stamp = null;
      /** @type {SchedulerTask | null} */
      this.previous = null;
      /** @type {SchedulerTask | null} */
      this.next = null;
      /** @type {WaitingPlace | null} its queue, or the delayed tasks; null: it runs or has ended */
      this.place = null;
      this.state = state;
      this.resolve = resolve;
      if (state.abortSource !== undefined) watchAbort(state.abortSource, this);
    }

    /** @returns {boolean} */
    get isContinuation() {
      return true;
    }

    /** By performance.now(), see EnqueueClock; the task is or was in a queue. */
    get enqueuedAt() {
      return /** @type {Stamp} */ (this.stamp).time;
    }

    /**
     * The "abort steps".
     * @param {unknown} reason
     */
    abort(reason) {
      this.reject(reason);
      this.place?.withdraw(this);
    }

    /** @param {unknown} reason */
    reject(reason) {
      this.resolve(new Rejection(reason));
    }

    /** Runs to its end; nothing is thrown. */
    run() {
      this.steps();
      const { abortSource } = this.state;
      if (abortSource !== undefined) unwatchAbort(abortSource, this);
    }

    steps() {
      this.resolve();
    }
  };

/** A task of yield(): what that gave resolves. */
const Continuation = asSchedulerTask(class {});

/** A task of postTask(): calls back in the async context of that call. */
class PostedTask extends asSchedulerTask(AsyncResource) {
  /**
   * @param {SchedulingState} state
   * @param {Resolve} resolve
   * @param {() => unknown} callback
   */
  constructor(state, resolve, callback) {
    super(state, resolve);
    this.callback = callback;
  }

  /** @override */
  get isContinuation() {
    return false;
  }

  /** See state-by-hooks.js: it is given none where it is made. */
  get hasOwnState() {
    return true;
  }

  /** @override */
  steps() {
    callInState(/** @type {any} */ (this), this.state, this.callBack);
  }

  callBack() {
    const { callback } = this;
    try {
      const result = callback();
      this.resolve(result);
      if (this.state.abortSource?.aborted) this.#handleAbort(result);
    } catch (error) {
      this.reject(error);
    }
  }

  /**
   * The callback aborted its own task, whose promise is rejected already: that of an async callback
   * which rejects for the same reason, by yield() for instance, is an unhandled one otherwise.
   * @param {unknown} result
   */
  #handleAbort(result) {
    if (!types.isPromise(result)) return;
    const { reason: aborted } = /** @type {AbortSignal} */ (this.state.abortSource);
    Reflect.apply(Promise.prototype.then, result, [
      undefined,
      (/** @type {unknown} */ reason) => {
        if (reason !== aborted) throw reason;
      },
    ]);
  }
}

module.exports = { Continuation, PostedTask };
