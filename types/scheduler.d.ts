/**
 * Highest first: `'user-blocking'` runs ahead of timers and I/O, `'user-visible'` beside them,
 * `'background'` only when the event loop has nothing else to do.
 * @see https://wicg.github.io/scheduling-apis/#sec-task-priorities
 */
export type TaskPriority = 'user-blocking' | 'user-visible' | 'background';

/**
 * Options of {@link Scheduler.postTask}, all optional. A value of a wrong type or range makes
 * `postTask()` reject with a TypeError.
 */
export interface SchedulerPostTaskOptions {
  /**
   * Ends the task when it aborts. If it is a {@link TaskSignal} and there is no `priority`, the
   * task follows the priority of the signal.
   * @defaultValue none
   */
  signal?: AbortSignal | undefined;
  /**
   * The fixed priority of the task.
   * @defaultValue that of `signal` where it is a {@link TaskSignal}, otherwise 'user-visible'
   */
  priority?: TaskPriority | undefined;
  /**
   * The shortest wait before the task is queued: a whole number of milliseconds, 0 to 2^53 - 1.
   * @defaultValue 0
   */
  delay?: number | undefined;
}

/** The waiting tasks of one priority. */
export interface PriorityInspection {
  /** How many tasks of `postTask()`. */
  tasks: number;
  /** How many continuations of `yield()`. */
  continuations: number;
  /**
   * How long the oldest of them has waited, in milliseconds; `undefined`: there is none. Tasks that
   * are queued in one phase of the event loop's turn may count from the first of them.
   */
  oldestAge: number | undefined;
}

/**
 * The result of {@link Scheduler.inspect}. `delayed`: the number of tasks whose delay has not
 * ended.
 */
export type SchedulerInspection = Record<TaskPriority, PriorityInspection> & { delayed: number };

/**
 * Runs callbacks as separate tasks in this thread's event loop, by priority and, within a priority,
 * in the order in which they were posted. Waiting tasks keep the thread alive.
 * @see https://wicg.github.io/scheduling-apis/#sec-scheduler
 */
export declare class Scheduler {
  /** `new Scheduler()` throws a TypeError. */
  private constructor();
  /**
   * Runs `callback` in a later task, in the async context of this call.
   * @returns What `callback` returned. Rejects with what it threw, with `signal.reason` (aborted
   *   before the callback returned) or with a `TypeError` (bad arguments); never throws.
   * @see https://wicg.github.io/scheduling-apis/#dom-scheduler-posttask
   */
  postTask<T>(callback: () => T, options?: SchedulerPostTaskOptions): Promise<Awaited<T>>;
  /**
   * Yields to the event loop, and continues in a continuation: a task that runs before the other
   * tasks of its priority. The continuation inherits priority and signal from the calling task,
   * also after `await`. In an idle callback it has `'background'`, elsewhere `'user-visible'`.
   * @returns Rejects with `signal.reason` when the signal of the task aborts.
   * @see https://wicg.github.io/scheduling-apis/#dom-scheduler-yield
   */
  yield(): Promise<undefined>;
  /** Beyond the standard: the waiting tasks of this scheduler. */
  inspect(): SchedulerInspection;
}

/** Options of {@link createScheduler}, all optional. A wrong type or range is a TypeError. */
export interface CreateSchedulerOptions {
  /**
   * How long the tasks of this scheduler may run in one turn of the event loop, in milliseconds. A
   * task that has begun is not interrupted.
   * @defaultValue 4
   */
  budget?: number | undefined;
  /**
   * A task that has waited for this number of milliseconds runs next, whatever its priority, even
   * if the event loop is never idle. The task after it is chosen by priority again.
   * @defaultValue none: a task of a lower priority may wait for ever
   */
  starvationLimit?: number | undefined;
}

/**
 * Beyond the standard: a further scheduler of this thread.
 * @throws TypeError for an option of a wrong type or range.
 */
export declare function createScheduler(options?: CreateSchedulerOptions): Scheduler;

/** The scheduler of this thread. */
export declare const scheduler: Scheduler;

/** Options of {@link TaskController}. An unknown priority is a TypeError. */
export interface TaskControllerInit {
  /**
   * The priority at first.
   * @defaultValue 'user-visible'
   */
  priority?: TaskPriority | undefined;
}

/**
 * Aborts tasks and changes their priority.
 * @see https://wicg.github.io/scheduling-apis/#sec-task-controller
 */
export declare class TaskController extends AbortController {
  /** @throws TypeError for an unknown `priority`. */
  constructor(init?: TaskControllerInit);
  /** Pass it to the tasks that this controller controls. */
  readonly signal: TaskSignal;
  /**
   * Changes the priority of {@link signal}, of the signals that follow it and of all tasks that
   * wait with them. The order of posting stays.
   * @throws `NotAllowedError` from inside a `prioritychange` event of this signal.
   * @see https://wicg.github.io/scheduling-apis/#dom-taskcontroller-setpriority
   */
  setPriority(priority: TaskPriority): void;
}

/** Options of {@link TaskSignal.any}. An unknown priority is a TypeError. */
export interface TaskSignalAnyInit {
  /**
   * A fixed priority, or a signal whose priority is followed.
   * @defaultValue 'user-visible'
   */
  priority?: TaskPriority | TaskSignal | undefined;
}

/**
 * An `AbortSignal` with a priority; it can be used as any `AbortSignal`.
 * @see https://wicg.github.io/scheduling-apis/#sec-task-signal
 */
export declare class TaskSignal extends AbortSignal {
  /** `new TaskSignal()` throws a TypeError. */
  private constructor();
  /**
   * A signal that aborts when one of `signals` does, and has the priority of `init` alone.
   * @see https://wicg.github.io/scheduling-apis/#dom-tasksignal-any
   */
  static any(signals: Iterable<AbortSignal>, init?: TaskSignalAnyInit): TaskSignal;
  /** The current priority; `prioritychange` reports a change. */
  readonly priority: TaskPriority;
  /** Called, as a listener is, with each {@link TaskPriorityChangeEvent} `prioritychange`. */
  onprioritychange: ((this: TaskSignal, event: TaskPriorityChangeEvent) => unknown) | null;
  /** The event is a {@link TaskPriorityChangeEvent}. */
  addEventListener(
    type: 'prioritychange',
    listener: (this: TaskSignal, event: TaskPriorityChangeEvent) => unknown,
    options?: Parameters<EventTarget['addEventListener']>[2],
  ): void;
  /** The other events, as of an `AbortSignal`. */
  addEventListener(...args: Parameters<EventTarget['addEventListener']>): void;
  /** The event is a {@link TaskPriorityChangeEvent}. */
  removeEventListener(
    type: 'prioritychange',
    listener: (this: TaskSignal, event: TaskPriorityChangeEvent) => unknown,
    options?: Parameters<EventTarget['removeEventListener']>[2],
  ): void;
  /** The other events, as of an `AbortSignal`. */
  removeEventListener(...args: Parameters<EventTarget['removeEventListener']>): void;
}

/** Options of {@link TaskPriorityChangeEvent}. An unknown priority is a TypeError. */
export interface TaskPriorityChangeEventInit {
  /** The priority before the change. */
  previousPriority: TaskPriority;
  /**
   * As in `EventInit`.
   * @defaultValue false
   */
  bubbles?: boolean | undefined;
  /**
   * As in `EventInit`.
   * @defaultValue false
   */
  cancelable?: boolean | undefined;
  /**
   * As in `EventInit`.
   * @defaultValue false
   */
  composed?: boolean | undefined;
}

/**
 * The event that a {@link TaskSignal} fires when its priority has changed.
 * @see https://wicg.github.io/scheduling-apis/#sec-task-priority-change-event
 */
export declare class TaskPriorityChangeEvent extends Event {
  /** @throws TypeError without `previousPriority`. */
  constructor(type: string, priorityChangeEventInitDict: TaskPriorityChangeEventInit);
  /** The priority before the change. */
  readonly previousPriority: TaskPriority;
}

/**
 * The argument of an idle callback.
 * @see https://w3c.github.io/requestidlecallback/#the-idledeadline-interface
 */
export declare class IdleDeadline {
  /** `new IdleDeadline()` throws a TypeError. */
  private constructor();
  /** How long the event loop will be idle, in milliseconds: 0 to 50. */
  timeRemaining(): number;
  /** Whether the callback is called because its `timeout` has passed. */
  readonly didTimeout: boolean;
}

/** Options of {@link requestIdleCallback}. A value that cannot become a number is a TypeError. */
export interface IdleRequestOptions {
  /**
   * Call back after this number of milliseconds even if the event loop is never idle. 0: do not.
   * @defaultValue 0
   */
  timeout?: number | undefined;
}

/**
 * Calls back when the event loop is idle. A waiting request keeps the thread alive. An error of
 * `callback` is an uncaught exception.
 * @returns A handle for {@link cancelIdleCallback}.
 * @see https://w3c.github.io/requestidlecallback/#the-requestidlecallback-method
 */
export declare function requestIdleCallback(
  callback: (deadline: IdleDeadline) => unknown,
  options?: IdleRequestOptions,
): number;

/** Cancels a request; has no effect for an unknown handle. */
export declare function cancelIdleCallback(handle: number): void;
