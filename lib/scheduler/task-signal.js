'use strict';

const {
  defineInterface,
  isObject,
  toAbortSignal,
  toDictionarySource,
  toMember,
} = require('../webidl.js');
const { follow, keepSources } = require('../composite-signals.js');
const { lazy } = require('../lazy.js');
const { findListenerHooks } = require('../node-internals.js');
const { DEFAULT_PRIORITY, toTaskPriority } = require('../task-priority.js');

/**
 * One event handler attribute of one target: `onprioritychange`. A listener is registered while
 * there is a handler, and keeps its place among the others when the handler is replaced.
 * Standard: HTML, #event-handler-attributes.
 */
class EventHandler {
  /** @type {object | null} what the attribute gives */
  #value = null;
  #type;

  /** @param {string} type  of the event */
  constructor(type) {
    this.#type = type;
  }

  get value() {
    return this.#value;
  }

  /** @param {Event} event */
  handleEvent(event) {
    const handler = this.#value;
    if (typeof handler !== 'function') return;
    if (Reflect.apply(handler, event.currentTarget, [event]) === false) event.preventDefault();
  }

  /**
   * @param {EventTarget} target
   * @param {unknown} value  anything but an object counts as null
   */
  assign(target, value) {
    const wasNull = this.#value === null;
    this.#value = isObject(value) ? value : null;
    const isNull = this.#value === null;
    if (wasNull && !isNull) target.addEventListener(this.#type, this);
    if (isNull && !wasNull) target.removeEventListener(this.#type, this);
  }
}

const priorities = lazy(() => require('./signal-priority.js'));

/** @typedef {import('../task-priority.js').TaskPriority} TaskPriority */

/** @type {WeakMap<TaskSignal, EventHandler>} */
const handlers = new WeakMap();

/**
 * @param {unknown} signal
 * @throws {TypeError} when it is not a TaskSignal
 */
function mustHavePriority(signal) {
  const priority = priorities().priorityOf(signal);
  if (priority === undefined) throw new TypeError('The receiver is not a TaskSignal');
  return priority;
}

/**
 * An AbortSignal of Node with a priority: a real AbortSignal that was given this prototype, because
 * none can be constructed. Standard: Prioritized Task Scheduling, #sec-task-signal.
 */
class TaskSignal extends AbortSignal {
  constructor() {
    throw new TypeError('Illegal constructor');
    super(); // eslint-disable-line no-unreachable -- the language asks for it
  }

  /**
   * Standard: #dom-tasksignal-any.
   * @param {Iterable<AbortSignal>} signals
   * @param {{ priority?: TaskPriority | TaskSignal }} [init]
   * @returns {TaskSignal}
   * @override
   */
  static any(signals, init = undefined) {
    if (!isObject(signals)) throw new TypeError('The signals are not a sequence');
    const sources = [...signals].map(toAbortSignal);
    const dictionary = toDictionarySource(init, 'TaskSignalAnyInit') ?? {};
    const priority = toMember(dictionary.priority, toPrioritySource, DEFAULT_PRIORITY);
    const isFixed = typeof priority === 'string';
    const signal = keepSources(AbortSignal.any(sources));
    const own = priorities().attachPriority(signal, isFixed ? priority : priority.value, true);
    if (!isFixed) own.follow(priority);
    return asTaskSignal(signal);
  }

  get priority() {
    return mustHavePriority(this).value;
  }

  get onprioritychange() {
    mustHavePriority(this);
    return handlers.get(this)?.value ?? null;
  }

  set onprioritychange(value) {
    mustHavePriority(this);
    let handler = handlers.get(this);
    if (handler === undefined) {
      handler = new EventHandler('prioritychange');
      handlers.set(this, handler);
    }
    handler.assign(this, value);
  }
}
defineInterface(TaskSignal, 'TaskSignal', ['priority', 'onprioritychange']);
Object.defineProperty(TaskSignal, 'any', { enumerable: true });

/**
 * (TaskPriority or TaskSignal)
 * @param {unknown} value
 */
const toPrioritySource = (value) => priorities().priorityOf(value) ?? toTaskPriority(value);

/** @param {AbortSignal} signal  that has a priority */
const asTaskSignal = (signal) =>
  /** @type {TaskSignal} */ (Object.setPrototypeOf(signal, TaskSignal.prototype));

/**
 * Makes a controller's signal a TaskSignal, with a priority that the caller changes.
 * @param {AbortController} controller
 * @param {() => TaskPriority} onFirstUse  returns the priority
 */
const givePriority = ({ signal }, onFirstUse) =>
  priorities().attachPriority(asTaskSignal(signal), DEFAULT_PRIORITY, false, onFirstUse);

/**
 * A signal that aborts with its source, and has the priority of the source: see follow().
 * @param {TaskSignal} source
 * @returns {TaskSignal} the source itself before Node 20.3
 */
function followTaskSignal(source) {
  const signal = follow(source);
  if (signal === source) return source;
  const ofSource = mustHavePriority(source);
  const own = priorities().attachPriority(signal, DEFAULT_PRIORITY, true, () => {
    own.follow(ofSource);
    return ofSource.value;
  });
  return asTaskSignal(signal);
}

const listenerHooks = findListenerHooks();

for (const key of listenerHooks) {
  if (key === undefined) continue;
  const inherited = /** @type {any} */ (AbortSignal.prototype)[key];
  Object.defineProperty(TaskSignal.prototype, key, {
    /**
     * @param {number} size  how many listeners of the type there are now
     * @param {string} type
     * @param {unknown[]} rest
     */
    value(size, type, ...rest) {
      Reflect.apply(inherited, this, [size, type, ...rest]);
      if (type === 'prioritychange') priorities().priorityOf(this)?.setListenerCount(size);
    },
    writable: true,
    configurable: true,
  });
}

if (listenerHooks.includes(undefined)) {
  const { addEventListener } = AbortSignal.prototype;
  Object.defineProperty(TaskSignal.prototype, 'addEventListener', {
    /**
     * A listener that is removed counts for ever.
     * @param {unknown[]} given
     */
    value(...given) {
      if (given[0] === 'prioritychange') priorities().priorityOf(this)?.setListenerCount(1);
      return Reflect.apply(addEventListener, this, given);
    },
    writable: true,
    configurable: true,
  });
}

/** Standard: Prioritized Task Scheduling, #sec-task-controller. */
class TaskController extends AbortController {
  #priority;

  /** @param {{ priority?: TaskPriority }} [init] */
  constructor(init = undefined) {
    const source = toDictionarySource(init, 'TaskControllerInit') ?? {};
    const priority = toMember(source.priority, toTaskPriority, DEFAULT_PRIORITY);
    super();
    this.#priority = priorities().attachPriority(asTaskSignal(super.signal), priority, false);
  }

  /**
   * Standard: #dom-taskcontroller-setpriority.
   * @param {TaskPriority} priority
   */
  setPriority(priority) {
    const own = this.#priority;
    own.change(toTaskPriority(priority));
  }
}
defineInterface(TaskController, 'TaskController', ['setPriority']);

module.exports = { TaskSignal, TaskController, followTaskSignal, givePriority };
