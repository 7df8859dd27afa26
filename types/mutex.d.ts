import type { Lock, LockHandle, LockManager, LockMode, LockOptions } from './locks.js';
import type { TaskPriority } from './scheduler.js';

/** Options of {@link Mutex} and {@link Semaphore}. Another manager than ours is a TypeError. */
export interface MutexOptions {
  /**
   * The lock manager of the named lock. Only with a name.
   * @defaultValue `locks`, shared by all threads and processes of this user
   */
  manager?: LockManager | undefined;
}

/** Options of a wait, all optional. A value of a wrong type or range is a TypeError. */
export interface WaitForUnlockOptions {
  /**
   * Longest wait in milliseconds; then a {@link LockError} with the reason `'timeout'`.
   * @defaultValue Infinity
   */
  timeout?: number | undefined;
  /**
   * Ends the wait when it aborts, with its reason.
   * @defaultValue none
   */
  signal?: AbortSignal | undefined;
}

/**
 * How to enter a mutex or a semaphore, all optional. A value of a wrong type or range is a
 * TypeError.
 */
export interface EnterOptions extends WaitForUnlockOptions {
  /**
   * How a request inside the callback of another lock takes part in deadlocks, see `LockOptions`.
   * @defaultValue 'warn'
   */
  deadlock?: LockOptions['deadlock'];
  /**
   * `false`: do not wait, but reject with a {@link LockError} with the reason `'held'`. Together
   * with a `timeout` a `NotSupportedError`; of `signal` only its abort and its priority matter.
   * @defaultValue true
   */
  blocking?: boolean | undefined;
  /**
   * Do not wait: the result is `null` if the lock is not available. Not together with `timeout` or
   * `signal`.
   * @defaultValue false
   */
  ifAvailable?: boolean | undefined;
  /**
   * Take the lock away from its holders; exclusive requests only.
   * @defaultValue false
   */
  steal?: boolean | undefined;
  /**
   * Longest hold in milliseconds, see `LockOptions`.
   * @defaultValue Infinity
   */
  holdLimit?: number | undefined;
  /**
   * Free text, shown by `inspect()`.
   * @defaultValue ''
   */
  label?: string | undefined;
  /**
   * Maximum number of waiting requests, this one included, see `LockOptions`.
   * @defaultValue Infinity
   */
  maxPending?: number | undefined;
  /**
   * The order among those that wait, see `LockOptions`.
   * @defaultValue 'user-visible'
   */
  priority?: TaskPriority | undefined;
}

/** Options of a {@link Mutex} that may be shared. */
export interface SharedOptions {
  /**
   * Anything but the two modes is a TypeError.
   * @defaultValue 'exclusive'
   */
  mode?: LockMode | undefined;
  /**
   * Maximum number of shared holders, this one included, see `LockOptions`. Without
   * `mode: 'shared'` a TypeError.
   * @defaultValue no limit
   */
  limit?: LockOptions['limit'];
}

/** Options of the methods that take a callback. */
export interface RunOptions extends EnterOptions {
  /**
   * Inside a callback of this mutex takes no further lock, see `LockOptions`.
   * @defaultValue false
   */
  reentrant?: boolean | undefined;
}

/** Releases the lock; has no effect the second time. Disposable, for `using` and `await using`. */
export interface MutexRelease {
  /** Releases the lock. */
  (): void;
  /** The held lock. */
  readonly lock: LockHandle;
  /** Releases the lock, for `using`. */
  [Symbol.dispose](): void;
  /** Releases the lock, for `await using`; settles when it is free. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * A mutex with the interface of common libraries. With a name the mutex is the lock of that name,
 * shared by threads and processes. Without a name the mutex is private to the object, in plain
 * JavaScript.
 * @example
 * ```ts
 * const refresh = new Mutex('refresh');
 * await refresh.runShared(() => call()); // many at once
 * await refresh.runExclusive(() => renew()); // alone
 * ```
 */
export declare class Mutex {
  /** Private to the object. */
  constructor();
  /**
   * @throws TypeError for a name that is not a string, or a `manager` that is not a lock manager.
   *   The name `undefined` is refused, too: an unset variable must not lose exclusion.
   */
  constructor(name: string, options?: MutexOptions);
  /**
   * Whether it is held now, in any mode.
   * @throws what {@link LockManager.isLocked} throws.
   */
  readonly locked: boolean;
  /** The same as {@link Mutex.locked}. Rejects where the bucket cannot be opened. */
  isLocked(): Promise<boolean>;
  /**
   * @param options - `mode` is `'exclusive'` by default.
   * @returns A function that releases it; `null` if `ifAvailable` was refused. Rejects with a
   *   {@link LockError} (held, or timed out), the reason of `signal`, and otherwise like
   *   `LockManager.acquire()`.
   */
  acquire(
    options?: EnterOptions & SharedOptions & { ifAvailable?: false | undefined },
  ): Promise<MutexRelease>;
  /** With any options: `null` where `ifAvailable` was refused. */
  acquire(options: EnterOptions & SharedOptions): Promise<MutexRelease | null>;
  /**
   * Runs `callback` while it holds the mutex exclusively.
   * @returns What `callback` returned, after the release. Rejects like {@link Mutex.acquire}, with
   *   the error of `callback`, or with a `LockLostError`.
   */
  runExclusive<T>(
    callback: (lock: Lock) => T,
    options?: RunOptions & { ifAvailable?: false | undefined },
  ): Promise<Awaited<T>>;
  /** With any options: `callback` gets `null` where `ifAvailable` was refused. */
  runExclusive<T>(callback: (lock: Lock | null) => T, options: RunOptions): Promise<Awaited<T>>;
  /** Runs `callback` while it holds the mutex in shared mode. */
  runShared<T>(
    callback: (lock: Lock) => T,
    options?: RunOptions & Pick<SharedOptions, 'limit'> & { ifAvailable?: false | undefined },
  ): Promise<Awaited<T>>;
  /** With any options: `callback` gets `null` where `ifAvailable` was refused. */
  runShared<T>(
    callback: (lock: Lock | null) => T,
    options: RunOptions & Pick<SharedOptions, 'limit'>,
  ): Promise<Awaited<T>>;
  /**
   * Resolves when it is not held: at once, or when its turn in the queue comes. It may be held
   * again when the caller continues.
   * @returns Rejects with {@link LockError} (not in time), the reason of `signal`, and otherwise like
   *   {@link Mutex.acquire}.
   */
  waitForUnlock(options?: WaitForUnlockOptions): Promise<void>;
}

/**
 * A counting semaphore with the methods of {@link Mutex}. All users of a name should use the same
 * number.
 * @example
 * ```ts
 * const uploads = new Semaphore('uploads', 4);
 * await uploads.runExclusive(() => upload(file)); // 4 at a time, on the whole machine
 * ```
 */
export declare class Semaphore {
  /**
   * @param name - `undefined`: private to the object.
   * @param permits - How many holders there may be at a time: 1 to 2**31 - 1.
   * @throws A TypeError for a name that is neither a string nor `undefined`, `permits` out of
   *   range, a `manager` without a name, or that is none.
   */
  constructor(name: string | undefined, permits: number, options?: MutexOptions);
  /**
   * Whether no permit is left.
   * @throws what {@link LockManager.isLocked} throws.
   */
  readonly locked: boolean;
  /** The same as {@link Semaphore.locked}. */
  isLocked(): Promise<boolean>;
  /** Takes a permit. Otherwise like {@link Mutex.acquire}. */
  acquire(options?: EnterOptions & { ifAvailable?: false | undefined }): Promise<MutexRelease>;
  /** With any options: `null` where `ifAvailable` was refused. */
  acquire(options: EnterOptions): Promise<MutexRelease | null>;
  /** Runs `callback` while it holds a permit. Otherwise like {@link Mutex.runExclusive}. */
  runExclusive<T>(
    callback: (lock: Lock) => T,
    options?: RunOptions & { ifAvailable?: false | undefined },
  ): Promise<Awaited<T>>;
  /** With any options: `callback` gets `null` where `ifAvailable` was refused. */
  runExclusive<T>(callback: (lock: Lock | null) => T, options: RunOptions): Promise<Awaited<T>>;
  /** The same as {@link Semaphore.runExclusive}: a permit has no mode. */
  runShared<T>(
    callback: (lock: Lock) => T,
    options?: RunOptions & { ifAvailable?: false | undefined },
  ): Promise<Awaited<T>>;
  /** With any options: `callback` gets `null` where `ifAvailable` was refused. */
  runShared<T>(callback: (lock: Lock | null) => T, options: RunOptions): Promise<Awaited<T>>;
  /**
   * Resolves when a permit is free in turn. Another request may take it before the caller does.
   * Rejects like {@link Mutex.waitForUnlock}.
   */
  waitForUnlock(options?: WaitForUnlockOptions): Promise<void>;
}

/**
 * A lock between threads that share a buffer, over `Atomics`: one 32-bit word, zero at first. It
 * does not record its owner: a thread that ends while it holds the lock leaves it locked. Use
 * {@link Mutex} if that may happen.
 * @example
 * ```ts
 * const lock = new AsyncLock(sharedArrayBuffer);
 * await lock.executeLocked(() => update()); // any thread; in a worker also lock() and unlock()
 * ```
 */
export declare class AsyncLock {
  /**
   * @param byteOffset - Offset of the word in the buffer, in bytes: a multiple of 4, 0 by default.
   * @throws A TypeError for another kind of buffer, a RangeError for an offset outside of the
   * buffer or not aligned.
   */
  constructor(sharedArrayBuffer: SharedArrayBuffer, byteOffset?: number);
  /**
   * Blocks the thread until it has the lock: for ever if the thread itself holds it.
   * @throws TypeError if the thread must not block.
   */
  lock(): void;
  /** @throws LockError if it is not locked. */
  unlock(): void;
  /**
   * Runs `callback` with the lock, and holds it until the returned promise has settled. Never
   * blocks the thread; a wait keeps the event loop alive.
   * @returns What `callback` returned, after the release. Rejects with what it threw.
   */
  executeLocked<T>(callback: () => T): Promise<Awaited<T>>;
}

/** A mutex or semaphore was not entered, or an {@link AsyncLock} was not locked. */
export declare class LockError extends Error {
  /** @internal */
  constructor(message: string, reason: LockError['reason'], options?: { cause?: unknown });
  /** Always `'LockError'`. */
  name: 'LockError';
  /**
   * `'held'`: not available at once (`blocking: false`). `'timeout'`: timed out; `cause` is the
   * `TimeoutError`.
   */
  readonly reason: 'held' | 'timeout' | 'not locked';
}
