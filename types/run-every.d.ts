import type { LockManager } from './locks.js';

/** One run of a job. */
export interface Run {
  /** The start of its interval. */
  readonly due: Date;
  /**
   * Aborts when the lock is lost or the job is stopped: pass it to everything that the run awaits.
   */
  readonly signal: AbortSignal;
  /** The fencing token of this process's turn, see {@link Lock.token}. */
  readonly token: bigint;
}

/** Stores the last run of a job, for all processes. */
export interface RunStore {
  /** Returns the last written number; `undefined`: none. */
  read(name: string): number | undefined | Promise<number | undefined>;
  /** Called by one process at a time, the holder of the lock. */
  write(name: string, run: number): void | Promise<void>;
}

/** Options of {@link runEvery}. A value of a wrong type or range is a TypeError. */
export interface RunEveryOptions {
  /** Length of the interval in milliseconds, a positive whole number. */
  every: number;
  /**
   * Fate of a run whose process dies in the middle. `'at-least-once'`: another process repeats it
   * at once. `'at-most-once'`: it is not repeated.
   * @defaultValue 'at-least-once'
   */
  delivery?: 'at-least-once' | 'at-most-once' | undefined;
  /**
   * Free text, shown by {@link LockManager.inspect}.
   * @defaultValue ''
   */
  label?: string | undefined;
  /**
   * The lock manager of the named lock.
   * @defaultValue `locks`, shared by all threads and processes of this user
   */
  manager?: LockManager | undefined;
  /**
   * Called with the error of the callback; the job then continues. Without it the promise of
   * `runEvery()` rejects, and this process makes no further runs. In both cases the run counts as
   * made.
   * @defaultValue none
   */
  onError?: ((error: unknown) => void | Promise<void>) | undefined;
  /**
   * Milliseconds from the multiples of `every` since 1970, UTC, at which intervals begin: `every:
   * 86_400_000, offset: 10_800_000` is 3 o'clock UTC each day.
   * @defaultValue 0
   */
  offset?: number | undefined;
  /**
   * Stops the job in this process.
   * @defaultValue none: it continues for as long as the process lives
   */
  signal?: AbortSignal | undefined;
  /**
   * The record of runs. A {@link RunStore}, or the absolute path of a file for this job alone.
   * @defaultValue a file beside the lock table, which on Linux the next boot removes, unless
   * `directory` or `HOLDFAST_DIR` is on a disk. In memory for `local:`. Required for `postgres:`, `etcd:` and a backend of your own.
   */
  store?: string | RunStore | undefined;
}

/**
 * Runs `callback` once per interval, in one of the processes and threads that call `runEvery()` with
 * this name; beyond the standard. One of them holds the lock `name` and makes all runs. When it
 * ends or dies, the next one continues at once, and reads the last run from the store.
 *
 * The first run of a job is at the start of the next interval. If a run takes longer than the
 * interval, or no process was alive, missed runs are skipped: only the current one is made. The job
 * keeps the process alive until `signal` aborts.
 *
 * `await runEvery(…)` waits until then: code behind it runs after the last run, not after the
 * first. A program that continues beside the job keeps the promise and handles its rejection.
 * @param name - Name of the job, and of its lock.
 * @param callback - Its promise is awaited before the next run.
 * @returns A promise that is fulfilled when `signal` has aborted and a run in progress has ended. A
 *   run that rejects after that counts as not made, unless `delivery` is `'at-most-once'`. Rejects with what `callback` threw, unless
 *   `onError` is given. Rejects also with what the store threw, and with a `TypeError` (argument of
 *   a wrong type, a `store` is missing). Rejects also with what {@link LockManager.request} rejects
 *   with, except `LockLostError`: a process whose lock was stolen queues again. Never throws.
 * @example
 * ```ts
 * const stop = new AbortController();
 * process.once('SIGTERM', () => stop.abort());
 * await runEvery('report', { every: 60_000, signal: stop.signal }, async ({ due, signal }) => {
 *   await writeReport(due, signal);
 * });
 * ```
 */
export declare function runEvery(
  name: string,
  options: RunEveryOptions,
  callback: (run: Run) => unknown,
): Promise<void>;
