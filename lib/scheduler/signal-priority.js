'use strict';

const { lazy } = require('../lazy.js');
const { findTrustKey } = require('../node-internals.js');
const {
  defineInterface,
  isObject,
  toDictionarySource,
  toDOMString,
  toMember,
} = require('../webidl.js');
const { PRIORITY_RANK, toTaskPriority } = require('../task-priority.js');

/** @typedef {import('../task-priority.js').TaskPriority} TaskPriority */

const trustKey = lazy(findTrustKey);

/**
 * The dictionary TaskPriorityChangeEventInit.
 * @typedef {object} ChangeEventInit
 * @property {TaskPriority} previousPriority
 * @property {boolean} [bubbles]
 * @property {boolean} [cancelable]
 * @property {boolean} [composed]
 */

/** Standard: Prioritized Task Scheduling, #sec-task-priority-change-event. */
class TaskPriorityChangeEvent extends Event {
  #previousPriority;

  /**
   * @param {string} type
   * @param {ChangeEventInit} priorityChangeEventInitDict
   */
  constructor(type, priorityChangeEventInitDict) {
    if (arguments.length < 2) {
      throw new TypeError(`TaskPriorityChangeEvent takes 2 arguments, ${arguments.length} given`);
    }
    const source = toDictionarySource(priorityChangeEventInitDict, 'TaskPriorityChangeEventInit');
    super(toDOMString(type), source);
    const priority = toMember((source ?? {}).previousPriority, toTaskPriority, undefined);
    if (priority === undefined) throw new TypeError("The member 'previousPriority' is required");
    this.#previousPriority = priority;
  }

  get previousPriority() {
    return this.#previousPriority;
  }
}
defineInterface(TaskPriorityChangeEvent, 'TaskPriorityChangeEvent', ['previousPriority']);

/**
 * The event that the platform fires: a trusted one.
 * @param {TaskPriority} previousPriority
 */
function createPriorityChangeEvent(previousPriority) {
  const key = trustKey();
  const init = key === undefined ? {} : { [key]: true };
  return new TaskPriorityChangeEvent('prioritychange', { ...init, previousPriority });
}

/**
 * @typedef {object} PriorityObserver
 * @property {(priority: TaskPriority) => void} priorityChanged
 * @property {boolean} [movesBehindEquals]  see `LockBackend`
 */

/**
 * Followers that have been collected leave the lists of their sources.
 * @type {FinalizationRegistry<{ source: WeakRef<SignalPriority>, follower: WeakRef<AbortSignal> }>}
 */
const collected = new FinalizationRegistry(({ source, follower }) => {
  source.deref()?.forget(follower);
});

/**
 * The priority of a TaskSignal and who follows it.
 * Standard: Prioritized Task Scheduling, #sec-task-signal.
 */
class SignalPriority {
  /** @type {TaskPriority} */
  #value;
  /** @type {(() => TaskPriority) | undefined} until the first use */
  #onFirstUse;
  #signal;
  #isChanging = false;
  /** @type {Set<PriorityObserver>} the "priority change algorithms" */
  #observers = new Set();
  #listenerCount = 0;
  /** @type {WeakRef<SignalPriority> | undefined} the "source signal"; undefined: it has none */
  #source;
  #isDependent;
  /** @type {Set<WeakRef<AbortSignal>>} the "dependent signals", in the order of their creation */
  #followers = new Set();
  /** @type {Set<AbortSignal>} those that would be missed (#sec-task-signal-garbage-collection) */
  #missedFollowers = new Set();

  /**
   * @param {AbortSignal} signal  whose priority this is; it owns this object
   * @param {TaskPriority} value
   * @param {boolean} isDependent  made by TaskSignal.any()
   * @param {() => TaskPriority} [onFirstUse]  returns the value, before it is read or observed
   */
  constructor(signal, value, isDependent, onFirstUse) {
    this.#signal = signal;
    this.#value = value;
    this.#isDependent = isDependent;
    this.#onFirstUse = onFirstUse;
  }

  get value() {
    this.#use();
    return this.#value;
  }

  #use() {
    const onFirstUse = this.#onFirstUse;
    if (onFirstUse === undefined) return;
    this.#value = onFirstUse(); // at the end of the stack it throws, and is called again
    this.#onFirstUse = undefined;
  }

  /** Standard: #tasksignal-has-fixed-priority. */
  get isFixed() {
    this.#use();
    return this.#isDependent && this.#source?.deref() === undefined;
  }

  /**
   * The last steps of TaskSignal.any(): follows the root of `other`, unless that is fixed.
   * @param {SignalPriority} other
   */
  follow(other) {
    const { root } = other;
    if (root === undefined) return;
    this.#source = new WeakRef(root);
    const follower = new WeakRef(this.#signal);
    root.addFollower(follower);
    collected.register(this.#signal, { source: this.#source, follower });
  }

  /**
   * The one to follow in order to follow this one; undefined: this one is fixed.
   * @returns {SignalPriority | undefined}
   */
  get root() {
    this.#use();
    return this.#isDependent ? this.#source?.deref() : this;
  }

  /** @param {WeakRef<AbortSignal>} follower */
  addFollower(follower) {
    this.#use();
    this.#followers.add(follower);
  }

  /** @param {WeakRef<AbortSignal>} follower */
  forget(follower) {
    this.#followers.delete(follower);
  }

  /** @param {PriorityObserver} observer */
  observe(observer) {
    this.#use();
    this.#observers.add(observer);
    this.#updateLifetime();
  }

  /** @param {PriorityObserver} observer */
  unobserve(observer) {
    this.#observers.delete(observer);
    this.#updateLifetime();
  }

  /** @param {number} count  of the listeners to `prioritychange` */
  setListenerCount(count) {
    this.#use();
    this.#listenerCount = count;
    this.#updateLifetime();
  }

  /** A follower lives as long as its source while it has listeners or observers. */
  #updateLifetime() {
    const source = this.#source?.deref();
    if (source === undefined) return;
    const isMissed = this.#listenerCount > 0 || this.#observers.size > 0;
    source.setMissed(this.#signal, isMissed);
  }

  /**
   * @param {AbortSignal} follower
   * @param {boolean} isMissed
   */
  setMissed(follower, isMissed) {
    if (isMissed) this.#missedFollowers.add(follower);
    else this.#missedFollowers.delete(follower);
  }

  /**
   * Standard: #tasksignal-signal-priority-change.
   * @param {TaskPriority} priority
   */
  change(priority) {
    if (this.#isChanging) {
      throw new DOMException('The priority is being changed already', 'NotAllowedError');
    }
    if (this.#value === priority) return;
    this.#isChanging = true;
    try {
      const previousPriority = this.#value;
      this.#value = priority;
      this.#notify(priority, PRIORITY_RANK[priority] < PRIORITY_RANK[previousPriority]);
      this.#signal.dispatchEvent(createPriorityChangeEvent(previousPriority));
      for (const follower of this.#followers) {
        const signal = follower.deref();
        if (signal !== undefined) priorityOf(signal)?.change(priority);
      }
    } finally {
      this.#isChanging = false;
    }
  }

  /**
   * Of lock requests in one queue, the last one falls first, and the first one rises first. In
   * another order they would pass each other on their way, and a younger one might be granted.
   * Those that move behind their equals would stay in the reverse order.
   * @param {TaskPriority} priority
   * @param {boolean} falls
   */
  #notify(priority, falls) {
    const inOrder = [...this.#observers];
    const lastFirst = falls ? inOrder.filter((it) => !it.movesBehindEquals).reverse() : [];
    for (const observer of new Set([...lastFirst, ...inOrder])) {
      if (this.#observers.has(observer)) observer.priorityChanged(priority);
    }
  }
}

/**
 * The key of the priority in a signal: the same in all copies of the package, which use the public
 * members of each other's objects. Another number, if these change.
 */
const PRIORITY = Symbol.for('holdfast.signalPriority.1');

/**
 * Gives `signal` a priority.
 * @param {AbortSignal} signal
 * @param {TaskPriority} value
 * @param {boolean} isDependent
 * @param {() => TaskPriority} [onFirstUse]  see SignalPriority
 */
function attachPriority(signal, value, isDependent, onFirstUse = undefined) {
  const priority = new SignalPriority(signal, value, isDependent, onFirstUse);
  Object.defineProperty(signal, PRIORITY, { value: priority });
  return priority;
}

/**
 * @param {unknown} signal
 * @returns {SignalPriority | undefined} undefined: not a TaskSignal
 */
const priorityOf = (signal) =>
  isObject(signal) && Object.hasOwn(signal, PRIORITY)
    ? /** @type {any} */ (signal)[PRIORITY]
    : undefined;

module.exports = { TaskPriorityChangeEvent, SignalPriority, attachPriority, priorityOf };
