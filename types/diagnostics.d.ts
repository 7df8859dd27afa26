import type { LockMode } from './locks.js';

/**
 * The message of the diagnostics channels `locks.request.start`, `.grant`, `.miss`, `.lost` and
 * `.end`. All messages of one request are one object, which is filled in as the request goes on: a
 * subscriber can keep what belongs to it in a WeakMap, such as a span.
 */
export interface LockRequestMessage {
  /** Tells the requests of this thread apart; counts up. */
  readonly requestId: number;
  /** Of the resource. */
  readonly name: string;
  /** As it was requested. */
  readonly mode: LockMode;
  /** '' where the locks are not in a bucket. */
  readonly bucket: string;
  /** Of this agent, as {@link LockManager.query} shows it. */
  readonly clientId: string;
  /** '': none. */
  readonly label: string;
  /** Whether the request did not wait. */
  readonly ifAvailable: boolean;
  /** Whether the request took the lock away from its holders. */
  readonly steal: boolean;
  /** Milliseconds since 1970, with fractions, as all times here. */
  readonly requestedAt: number;
  /** The fencing token; null: it has not been granted (yet). */
  readonly token: bigint | null;
  /** null: it has not been granted (yet), or `locks.request.grant` has no subscriber. */
  readonly grantedAt: number | null;
  /** null: it goes on. */
  readonly endedAt: number | null;
  /** What `request()` rejected with, or a {@link LockLostError}; undefined: nothing (yet). */
  readonly error: unknown;
}
