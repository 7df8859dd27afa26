/**
 * From the highest down: `'user-blocking'` runs ahead of timers and I/O, `'user-visible'` beside
 * them, `'background'` only when the event loop has nothing else to do.
 * @see https://wicg.github.io/scheduling-apis/#sec-task-priorities
 */
export type TaskPriority = 'user-blocking' | 'user-visible' | 'background';

/** Options of {@link Scheduler.postTask}, all optional. */
export interface SchedulerPostTaskOptions {
  /**
   * Ends the task when it aborts. Where it is a {@link TaskSignal} and there is no `priority`, the
   * task has the priority of the signal, whatever that becomes.
   * @defaultValue none
   */
  signal?: AbortSignal | undefined;
  /**
   * The priority of the task for good.
   * @defaultValue that of `signal` where it is a {@link TaskSignal}, otherwise 'user-visible'
   */
  priority?: TaskPriority | undefined;
  /**
   * The shortest wait before the task is queued: a whole number of milliseconds, 0 to 2^53 - 1.
   * @defaultValue 0
   */
  delay?: number | undefined;
}

/** What waits at one priority. */
export interface PriorityInspection {
  /** How many tasks of `postTask()`. */
  tasks: number;
  /** How many continuations of `yield()`. */
  continuations: number;
  /** How long the oldest of them has waited, in milliseconds; `undefined`: there is none. */
  oldestAge: number | undefined;
}

/** What {@link Scheduler.inspect} gives. `delayed`: how many tasks whose delay has not ended. */
export type SchedulerInspection = Record<TaskPriority, PriorityInspection> & { delayed: number };

/**
 * Runs callbacks as tasks of their own in the event loop of this thread, by priority and, within a
 * priority, in the order in which they were posted. Waiting tasks keep the thread alive.
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
   * Gives the event loop back and goes on in a continuation: a task that runs before the other
   * tasks of its priority. Priority and signal are those of the task that calls, also after
   * `await`; `'background'` in an idle callback; `'user-visible'` elsewhere.
   * @returns Rejects with `signal.reason` when the signal of the task aborts.
   * @see https://wicg.github.io/scheduling-apis/#dom-scheduler-yield
   */
  yield(): Promise<undefined>;
  /** Beyond the standard: what is waiting. Other schedulers are not counted. */
  inspect(): SchedulerInspection;
}

/** Options of {@link createScheduler}, all optional. */
export interface CreateSchedulerOptions {
  /**
   * How long the tasks of this scheduler may run in one turn of the event loop, in milliseconds. A
   * task that has begun is not interrupted.
   * @defaultValue 4
   */
  budget?: number | undefined;
  /**
   * A task that has waited for this number of milliseconds runs next, whatever its priority, also in an
   * event loop that is never idle. After such a task one is chosen by priority again.
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

/** Options of {@link TaskController}. */
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
  /** @throws TypeError for a `priority` that is none. */
  constructor(init?: TaskControllerInit);
  /** For the tasks that this controls. */
  readonly signal: TaskSignal;
  /**
   * Changes the priority of {@link signal}, of the signals that follow it and of all tasks that
   * wait with them; their order of posting stays.
   * @throws `NotAllowedError` from inside a `prioritychange` event of this signal.
   * @see https://wicg.github.io/scheduling-apis/#dom-taskcontroller-setpriority
   */
  setPriority(priority: TaskPriority): void;
}

/** Options of {@link TaskSignal.any}. */
export interface TaskSignalAnyInit {
  /**
   * The priority for good, or a signal to take it from and to follow.
   * @defaultValue 'user-visible'
   */
  priority?: TaskPriority | TaskSignal | undefined;
}

/**
 * An `AbortSignal` with a priority: to be used wherever an `AbortSignal` is.
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
  /** Now; `prioritychange` tells of another one. */
  readonly priority: TaskPriority;
  /** Called, as a listener is, with each {@link TaskPriorityChangeEvent} `prioritychange`. */
  onprioritychange: ((this: TaskSignal, event: TaskPriorityChangeEvent) => unknown) | null;
}

/** Options of {@link TaskPriorityChangeEvent}. */
export interface TaskPriorityChangeEventInit {
  /** Before the change. */
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
 * What a {@link TaskSignal} is told by when its priority has changed.
 * @see https://wicg.github.io/scheduling-apis/#sec-task-priority-change-event
 */
export declare class TaskPriorityChangeEvent extends Event {
  /** @throws TypeError without `previousPriority`. */
  constructor(type: string, priorityChangeEventInitDict: TaskPriorityChangeEventInit);
  /** Before the change. */
  readonly previousPriority: TaskPriority;
}

/**
 * What an idle callback gets.
 * @see https://w3c.github.io/requestidlecallback/#the-idledeadline-interface
 */
export declare class IdleDeadline {
  /** `new IdleDeadline()` throws a TypeError. */
  private constructor();
  /** How long the event loop will have nothing else to do, in milliseconds: 0 to 50. */
  timeRemaining(): number;
  /** Whether the callback is called because its `timeout` has passed. */
  readonly didTimeout: boolean;
}

/** Options of {@link requestIdleCallback}. */
export interface IdleRequestOptions {
  /**
   * Call back after this number of milliseconds even if the event loop is never idle. 0: do not.
   * @defaultValue 0
   */
  timeout?: number | undefined;
}

/**
 * Calls back when the event loop has nothing else to do. A request that waits keeps the thread
 * alive. What `callback` throws is an uncaught exception.
 * @returns A handle for {@link cancelIdleCallback}.
 * @see https://w3c.github.io/requestidlecallback/#the-requestidlecallback-method
 */
export declare function requestIdleCallback(
  callback: (deadline: IdleDeadline) => unknown,
  options?: IdleRequestOptions,
): number;

/** Takes back a request; of no effect for a handle that is none. */
export declare function cancelIdleCallback(handle: number): void;
