import type { LockMode } from './locks.js';
import type { TaskPriority } from './scheduler.js';

/**
 * The message of the diagnostics channels `locks.request.start`, `.grant`, `.miss`, `.lost` and
 * `.end`. All messages of one request are the same object, which is filled in as the request
 * proceeds. A subscriber can keep its own data, such as a span, in a WeakMap.
 */
export interface LockRequestMessage {
  /** Identifies a request of this thread; counts up. */
  readonly requestId: number;
  /** Name of the resource. */
  readonly name: string;
  /** As it was requested. */
  readonly mode: LockMode;
  /** Name of the bucket; '' without buckets. */
  readonly bucket: string;
  /** The id of this agent, as {@link LockManager.query} shows it. */
  readonly clientId: string;
  /** '': none. */
  readonly label: string;
  /** As it was requested; of a request that follows a signal, the one at its start. */
  readonly priority: TaskPriority;
  /** Whether the request would not wait. */
  readonly ifAvailable: boolean;
  /** Whether the request took the lock away from its holders. */
  readonly steal: boolean;
  /** Milliseconds since 1970, with fractions, as all times here. */
  readonly requestedAt: number;
  /**
   * The fencing token; null: it has not been granted (yet). Not enumerable, and a string in JSON: a
   * copy has none.
   */
  readonly token: bigint | null;
  /** Time of the grant; null: not granted (yet), or `locks.request.grant` has no subscriber. */
  readonly grantedAt: number | null;
  /** Time of the end; null: not ended. */
  readonly endedAt: number | null;
  /**
   * The error with which `request()` rejected, or a {@link LockLostError}; undefined: none (yet).
   */
  readonly error: unknown;
}
