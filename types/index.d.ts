export * from './locks.js';
export * from './mutex.js';
export * from './run-every.js';
export * from './scheduler.js';
export type {
  LockDeadlockAction,
  LockDetail,
  LockEvent,
  LockEventType,
  LockLossReason,
} from './backend.js';
export type * from './diagnostics.js';
