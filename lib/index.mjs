import core from './index.js';

export const { locks, Lock, LockManager, LockLostError, openLockManager, createLocalLockManager } =
  core;
export const { Mutex, Semaphore, AsyncLock, LockError, DeadlockError, runEvery } = core;
export const {
  scheduler,
  Scheduler,
  TaskController,
  TaskSignal,
  TaskPriorityChangeEvent,
  createScheduler,
  requestIdleCallback,
  cancelIdleCallback,
  IdleDeadline,
} = core;
export default core;
