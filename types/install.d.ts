import type { Lock as HoldfastLock, LockManager as HoldfastLockManager } from './locks.js';
import type * as scheduling from './scheduler.js';

/**
 * `import 'holdfast/install'` defines `navigator.locks`, `scheduler`, `requestIdleCallback`,
 * `cancelIdleCallback` and the interfaces of both standards as globals, so that code written for
 * the browser runs unmodified. Beside TypeScript's DOM library, globals that it declares too keep
 * its declarations.
 */
declare global {
  interface Navigator {
    readonly locks: HoldfastLockManager;
  }
  var navigator: Navigator;
  var Lock: typeof globalThis extends { onmessage: any; Lock: infer T } ? T : typeof HoldfastLock;
  var LockManager: typeof globalThis extends { onmessage: any; LockManager: infer T }
    ? T
    : typeof HoldfastLockManager;
  // TypeScript's DOM library knows these since 6.0, as it knows CommandEvent.
  var scheduler: typeof globalThis extends { onmessage: any; CommandEvent: any }
    ? typeof globalThis extends { scheduler: infer T }
      ? T
      : never
    : scheduling.Scheduler;
  var Scheduler: typeof globalThis extends { onmessage: any; CommandEvent: any }
    ? typeof globalThis extends { Scheduler: infer T }
      ? T
      : never
    : typeof scheduling.Scheduler;
  var TaskController: typeof globalThis extends { onmessage: any; CommandEvent: any }
    ? typeof globalThis extends { TaskController: infer T }
      ? T
      : never
    : typeof scheduling.TaskController;
  var TaskSignal: typeof globalThis extends { onmessage: any; CommandEvent: any }
    ? typeof globalThis extends { TaskSignal: infer T }
      ? T
      : never
    : typeof scheduling.TaskSignal;
  var TaskPriorityChangeEvent: typeof globalThis extends { onmessage: any; CommandEvent: any }
    ? typeof globalThis extends { TaskPriorityChangeEvent: infer T }
      ? T
      : never
    : typeof scheduling.TaskPriorityChangeEvent;
  var IdleDeadline: typeof globalThis extends { onmessage: any; IdleDeadline: infer T }
    ? T
    : typeof scheduling.IdleDeadline;
  function requestIdleCallback(
    callback: (deadline: scheduling.IdleDeadline) => unknown,
    options?: scheduling.IdleRequestOptions,
  ): number;
  function cancelIdleCallback(handle: number): void;
}
