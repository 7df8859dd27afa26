import type { Lock as HoldfastLock, LockManager as HoldfastLockManager } from './locks.js';
import type * as scheduling from './scheduler.js';

/**
 * `import 'holdfast/install'` defines `navigator.locks`, `scheduler`, `requestIdleCallback`,
 * `cancelIdleCallback` and the interfaces of both standards as globals, so that code written for
 * the browser runs unchanged. Globals that TypeScript's DOM library declares, too, keep its
 * declarations. `locks` of `node:worker_threads`, where Node has it, is `navigator.locks` then.
 */
declare global {
  /** Node 21 and newer have it; in Node 20 it is defined here. */
  interface Navigator {
    /** The locks of all threads and processes. */
    readonly locks: HoldfastLockManager;
  }
  /** With `locks`. */
  var navigator: Navigator;
  /** The interface of the standard. */
  var Lock: typeof globalThis extends { onmessage: any; Lock: infer T } ? T : typeof HoldfastLock;
  /** The interface of the standard. */
  var LockManager: typeof globalThis extends { onmessage: any; LockManager: infer T }
    ? T
    : typeof HoldfastLockManager;
  // TypeScript's DOM library knows these since 6.0, as it knows CommandEvent.
  /** The scheduler of this thread. */
  var scheduler: typeof globalThis extends { onmessage: any; CommandEvent: any }
    ? typeof globalThis extends { scheduler: infer T }
      ? T
      : never
    : scheduling.Scheduler;
  /** The interface of the standard. */
  var Scheduler: typeof globalThis extends { onmessage: any; CommandEvent: any }
    ? typeof globalThis extends { Scheduler: infer T }
      ? T
      : never
    : typeof scheduling.Scheduler;
  /** The interface of the standard. */
  var TaskController: typeof globalThis extends { onmessage: any; CommandEvent: any }
    ? typeof globalThis extends { TaskController: infer T }
      ? T
      : never
    : typeof scheduling.TaskController;
  /** The interface of the standard. */
  var TaskSignal: typeof globalThis extends { onmessage: any; CommandEvent: any }
    ? typeof globalThis extends { TaskSignal: infer T }
      ? T
      : never
    : typeof scheduling.TaskSignal;
  /** The interface of the standard. */
  var TaskPriorityChangeEvent: typeof globalThis extends { onmessage: any; CommandEvent: any }
    ? typeof globalThis extends { TaskPriorityChangeEvent: infer T }
      ? T
      : never
    : typeof scheduling.TaskPriorityChangeEvent;
  /** The interface of the standard. */
  var IdleDeadline: typeof globalThis extends { onmessage: any; IdleDeadline: infer T }
    ? T
    : typeof scheduling.IdleDeadline;
  /** Calls `callback` when the event loop is idle. Returns a handle. */
  function requestIdleCallback(
    callback: (deadline: scheduling.IdleDeadline) => unknown,
    options?: scheduling.IdleRequestOptions,
  ): number;
  /** Cancels a callback; has no effect for an unknown handle. */
  function cancelIdleCallback(handle: number): void;
}
