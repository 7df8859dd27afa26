'use strict';

const { lazy } = require('../lazy.js');
const {
  defineInterface,
  isObject,
  toCallback,
  toDictionarySource,
  toMember,
  toUnsignedLong,
} = require('../webidl.js');

/** Most programs that load the package post no task. */
const engine = lazy(() => require('./scheduler-task.js'));
const idleCallbacks = lazy(() => require('./dispatcher.js').dispatcher.idleCallbacks);
const optionNames = lazy(() => require('../option-names.js'));

/** How long a run of tasks may last before the event loop gets its turn, in ms. */
const DEFAULT_BUDGET = 4;

/**
 * @param {string} member
 * @returns {(value: unknown) => number}
 */
const toDuration = (member) => (value) => {
  if (typeof value !== 'number' || !(value > 0)) {
    throw new TypeError(`The member '${member}' is not a positive number of milliseconds`);
  }
  return value;
};

/**
 * Options of createScheduler(). Beyond the standard.
 * @param {unknown} value
 */
function toSchedulerOptions(value) {
  const given = toDictionarySource(value, 'CreateSchedulerOptions');
  if (given !== undefined) optionNames().warnOfMisspeltOptions(given, optionNames().OF_SCHEDULER);
  const source = given ?? {};
  return {
    budget: toMember(source.budget, toDuration('budget'), DEFAULT_BUDGET),
    starvationLimit: toMember(source.starvationLimit, toDuration('starvationLimit'), undefined),
  };
}

/** @typedef {import('./idle-deadline.js').IdleDeadline} IdleDeadline */

const FROM_THIS_PACKAGE = Symbol('from this package');

/** @type {(value: unknown) => boolean} */
let isScheduler;

/**
 * @param {unknown} error
 * @param {unknown} self
 * @param {string} method  that has failed
 */
const toFailure = (error, self, method) =>
  isScheduler(self)
    ? error
    : new TypeError(
        `${method}() was called without its scheduler: use scheduler.${method}(), or bind it`,
      );

/** Standard: Prioritized Task Scheduling, #sec-scheduler. */
class Scheduler {
  #budget;
  #starvationLimit;
  /** @type {import('./task-queue.js').TaskSchedule | undefined} made at the first use */
  #schedule;

  /**
   * Not for users: `new Scheduler()` throws.
   * @param {symbol} [key]
   * @param {number} [budget]  in ms
   * @param {number} [starvationLimit]  in ms
   */
  constructor(key = undefined, budget = DEFAULT_BUDGET, starvationLimit = undefined) {
    if (key !== FROM_THIS_PACKAGE) throw new TypeError('Illegal constructor');
    this.#budget = budget;
    this.#starvationLimit = starvationLimit;
  }

  /** @returns {import('./task-queue.js').TaskSchedule} */
  #open() {
    this.#schedule ??= engine().createSchedule(this, this.#budget, this.#starvationLimit);
    return this.#schedule;
  }

  /**
   * Standard: #dom-scheduler-posttask.
   * @param {() => unknown} callback
   * @param {unknown} [options]
   * @returns {Promise<any>} nothing is thrown
   */
  postTask(callback, options = undefined) {
    try {
      return engine().postTask(this.#open(), callback, options);
    } catch (error) {
      return Promise.reject(toFailure(error, this, 'postTask'));
    }
  }

  /**
   * Standard: #dom-scheduler-yield.
   * @returns {Promise<undefined>} nothing is thrown
   */
  yield() {
    try {
      return engine().yieldTurn(this.#open());
    } catch (error) {
      return Promise.reject(toFailure(error, this, 'yield'));
    }
  }

  /** Beyond the standard: what is waiting. */
  inspect() {
    if (!isScheduler(this)) throw toFailure(undefined, this, 'inspect');
    return this.#open().inspect();
  }

  static {
    isScheduler = (value) => isObject(value) && #schedule in value;
  }
}
defineInterface(Scheduler, 'Scheduler', ['postTask', 'yield', 'inspect']);

/**
 * Beyond the standard: a further scheduler of this thread.
 * @param {unknown} [options]
 * @returns {Scheduler}
 */
function createScheduler(options = undefined) {
  const { budget, starvationLimit } = toSchedulerOptions(options);
  return new Scheduler(FROM_THIS_PACKAGE, budget, starvationLimit);
}

/** The one of this thread. */
const scheduler = createScheduler();

/**
 * Standard: requestIdleCallback, #the-requestidlecallback-method.
 * @param {(deadline: IdleDeadline) => unknown} callback
 * @param {unknown} [options]
 * @returns {number} a handle for cancelIdleCallback()
 */
function requestIdleCallback(callback, options = undefined) {
  const steps = toCallback(callback);
  const source = toDictionarySource(options, 'IdleRequestOptions') ?? {};
  const timeout = toMember(source.timeout, toUnsignedLong, 0);
  return idleCallbacks().request(steps, timeout);
}

/**
 * Standard: requestIdleCallback, #the-cancelidlecallback-method.
 * @param {number} handle
 */
function cancelIdleCallback(handle) {
  if (arguments.length === 0) throw new TypeError('cancelIdleCallback() takes 1 argument, 0 given');
  idleCallbacks().cancel(toUnsignedLong(handle));
}

module.exports = {
  Scheduler,
  cancelIdleCallback,
  createScheduler,
  requestIdleCallback,
  scheduler,
};
