'use strict';

const { AsyncResource } = require('node:async_hooks');
const { unwatchAbort, watchAbort } = require('../locks/abort-listeners.js');
const { enterState } = require('./scheduling-state.js');

/** @typedef {import('./scheduling-state.js').SchedulingState} SchedulingState */
/** @typedef {InstanceType<ReturnType<typeof asSchedulerTask>>} SchedulerTask */
/** @typedef {(value?: unknown) => void} Resolve */
/** @typedef {(reason: unknown) => void} Reject */

/**
 * What a task tells when it leaves the place where it waits before its time.
 * @typedef {{ withdraw(task: SchedulerTask): void }} WaitingPlace
 */

/**
 * A scheduler task with its task handle: a link in a queue, and the promise that it settles. The
 * class is made of what a task is besides, so that it is one object: a hundred thousand may wait.
 * Standard: Prioritized Task Scheduling, #scheduler-task and #task-handle.
 * @param {new (...args: any[]) => object} Base
 */
const asSchedulerTask = (Base) =>
  class extends Base {
    /**
     * @param {SchedulingState} state
     * @param {Resolve} resolve
     * @param {Reject} reject
     */
    constructor(state, resolve, reject) {
      super('SchedulerTask');
      /** When it was queued, see takeEnqueueTime(). The "enqueue order": of two, less is older. */
      this.enqueuedAt = 0;
      /** @type {SchedulerTask | null} */
      this.previous = null;
      /** @type {SchedulerTask | null} */
      this.next = null;
      /** @type {WaitingPlace | null} its queue, or the delayed tasks; null: it runs or has ended */
      this.place = null;
      this.state = state;
      this.resolve = resolve;
      this.reject = reject;
      if (state.abortSource !== undefined) watchAbort(state.abortSource, this);
    }

    /** @returns {boolean} */
    get isContinuation() {
      return true;
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
   * @param {() => unknown} callback
   * @param {Resolve} resolve
   * @param {Reject} reject
   */
  constructor(state, callback, resolve, reject) {
    super(state, resolve, reject);
    this.callback = callback;
  }

  /** @override */
  get isContinuation() {
    return false;
  }

  /** @override */
  steps() {
    /** @type {any} */ (this).runInAsyncScope(this.callBack, this);
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

module.exports = { Continuation, PostedTask };
