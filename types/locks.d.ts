import type { LockBackend, LockDetail, LockEvent, LockLossReason } from './backend.js';
import type { TaskPriority, TaskSignal } from './scheduler.js';

/** `'exclusive'`: the only holder. `'shared'`: together with other shared holders. */
export type LockMode = 'exclusive' | 'shared';

/**
 * Options of {@link LockManager.request}, all optional. A value of a wrong type or range makes
 * `request()` reject with a TypeError.
 * @see https://w3c.github.io/web-locks/#dictdef-lockoptions
 */
export interface LockOptions {
  /**
   * Do not wait: call back with `null` if the lock is held in an incompatible mode, or other
   * requests wait. Not together with `steal` or `signal`.
   * @defaultValue false
   */
  ifAvailable?: boolean | undefined;
  /**
   * Alone, or together with other shared holders.
   * @defaultValue 'exclusive'
   */
  mode?: LockMode | undefined;
  /**
   * Ends the wait when it aborts: the request rejects with its reason. It has no effect once the
   * callback has been called.
   * @defaultValue none
   */
  signal?: AbortSignal | undefined;
  /**
   * Take the lock away from its holders and get it at once, before all waiters. Only with `mode:
   * 'exclusive'`; not together with `ifAvailable` or `signal`. The holder's `request()` rejects with
   * an `AbortError`, but its callback continues: use it to recover from a holder that no longer
   * answers.
   * @defaultValue false
   */
  steal?: boolean | undefined;

  /**
   * How a request that is made inside the callback of another lock takes part in deadlocks, beyond
   * the standard. It counts as something that the enclosing lock waits for, unless it says
   * `'ignore'`. A cycle of such requests, over any number of threads and processes, that has stood
   * unchanged for a second is a deadlock.
   *
   * - `'warn'`: one process warning (`HOLDFAST_DEADLOCK`) names the whole cycle.
   * - `'reject'`: this request rejects with a {@link DeadlockError}. Of several requests with
   *   `'reject'` in a cycle, the youngest one is rejected.
   * - `'ignore'`: the callback does not wait for this request, which is in no cycle.
   *
   * Before Node 24 code behind a callback's first `await` counts as inside only once this option or
   * `reentrant` was used in the process.
   * @defaultValue 'warn'
   */
  deadlock?: 'warn' | 'reject' | 'ignore' | undefined;
  /**
   * Maximum hold in milliseconds, beyond the standard: above 0 and up to 2**31 - 1, or `Infinity`
   * for none. When it passes, the lock is taken away: {@link Lock.signal} aborts, `request()`
   * rejects with a {@link LockLostError} (`reason: 'expired'`), the next request is granted. A
   * callback that runs is not interrupted; a callback that has not run by then is not called.
   * @defaultValue Infinity
   */
  holdLimit?: number | undefined;
  /**
   * Free text, shown by {@link LockManager.inspect}; beyond the standard. Shared memory keeps its
   * first 120 UTF-16 code units.
   * @defaultValue ''
   */
  label?: string | undefined;
  /**
   * Maximum number of shared holders, this one included; beyond the standard: a counting semaphore.
   * From 1 to 2**31 - 1, and only with `mode: 'shared'`; anything else is a TypeError. Holders
   * without a limit count too. The queue stays strict: no request overtakes a request that waits
   * for room.
   * @defaultValue no limit
   */
  limit?: number | undefined;
  /**
   * Maximum number of requests that wait for the lock, this one included; beyond the standard: 0 to
   * 2**31 - 1, or `Infinity` for no limit. If the lock is not free and so many wait, the request
   * rejects with a `QuotaExceededError` at once, and leaves nothing behind. With 0 the request
   * rejects if it would have to wait. The lock table counts where it would queue the request, so
   * the count is exact over all threads and processes. A backend for several machines may count
   * requests of the dead. Not together with `steal` or `ifAvailable`.
   * @defaultValue Infinity
   */
  maxPending?: number | undefined;
  /**
   * Orders the requests that wait for a lock: by priority, then by age; beyond the standard. One of
   * `'user-blocking'`, `'user-visible'` and `'background'`, as for tasks; anything else is a
   * TypeError. Shared and exclusive requests wait in one queue, which stays strict: while the first
   * request cannot be granted, the others wait, too. A holder is never interrupted. A request that
   * 16 younger ones with a higher priority have passed is passed by no other. If `signal` is a
   * {@link TaskSignal} and there is no `priority`, the request has the priority of the signal, and
   * is moved when that changes.
   * @defaultValue 'user-visible'
   */
  priority?: TaskPriority | undefined;
  /**
   * Reentrant request, beyond the standard. Takes no further lock inside the callback of a lock of
   * the same name that covers the request. Such a lock is held exclusively or, for a shared
   * request, in any mode. The request's callback gets the held lock, which is not released before
   * that callback has ended. Several such requests in one callback queue among themselves, with the
   * usual rules and their other options. Work that outlives the outer callback, or the callback of
   * `requestSync()`, is not covered any more. Outside of such a callback the option has no effect.
   * For `request()` and `requestSync()`; before Node 24 pass it to the outer request, too.
   * @defaultValue false
   */
  reentrant?: boolean | undefined;
  /**
   * Maximum wait in milliseconds, beyond the standard: 0 to 2**31 - 1, or `Infinity` for none. When
   * it passes, the request leaves the queue and rejects with a `TimeoutError`. Not together with
   * `steal` or `ifAvailable`.
   * @defaultValue Infinity
   */
  timeout?: number | undefined;
}

/**
 * Called when the lock is granted, in a later microtask or task and in the async context of the
 * caller. The lock is held until the returned promise has settled.
 */
export type LockGrantedCallback<T, L extends Lock | null = Lock> = (lock: L) => T;

/**
 * A granted request.
 * @see https://w3c.github.io/web-locks/#api-lock
 */
export declare class Lock {
  /** `new Lock()` throws a TypeError. */
  private constructor();
  /** The requested resource name. */
  readonly name: string;
  /** The requested mode. */
  readonly mode: LockMode;
  /**
   * Fencing token, beyond the standard: rises with every grant in the bucket. Pass it to the
   * resource that the lock protects, which should refuse tokens smaller than the largest it has
   * seen.
   */
  readonly token: bigint;
  /**
   * Aborts, beyond the standard, when the lock is lost while it is held; its `reason` is the
   * {@link LockLostError} that `request()` rejects with. Pass it to work that must end then. Its
   * `priority` is the highest of the request and of those that wait for the lock, with
   * `prioritychange` events, from the first use on. So tasks that are posted with the signal
   * inherit the urgency of the requests that wait. After the release the priority is the one of the
   * request.
   * @example
   * ```ts
   * await locks.request('feed', ({ signal }) => fetch(url, { signal }));
   * ```
   */
  readonly signal: TaskSignal;
  /**
   * Aborts, beyond the standard, when another request waits for the lock; at once if one waits
   * already. It does not keep a handle: keep the handle itself. A long holder can finish its batch then, release the lock and request it again. It is
   * created at its first use, and costs nothing before. Each read of the property checks again, in
   * shared memory also while the event loop is blocked.
   * @example
   * ```ts
   * await locks.request('index', async (lock) => {
   *   for (const item of items) {
   *     if (lock.contended.aborted) break;
   *     await update(item);
   *   }
   * });
   * ```
   */
  readonly contended: AbortSignal;
}

/**
 * A lock that is held until its `release()` is called: the result of {@link LockManager.acquire}.
 */
export interface LockHandle extends Lock {
  /**
   * Releases the lock: in shared memory before it returns. Over a server the release is on its way
   * when this returns. Has no effect the second time, or if the lock was lost.
   */
  release(): void;
  /** The same, for `using`. */
  [Symbol.dispose](): void;
  /** The same, for `await using`: its promise is fulfilled once the lock is released. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** One held or pending request in a snapshot. */
export interface LockInfo {
  /**
   * UUID of the agent (one Node environment: the main thread or a worker thread) that made the
   * request.
   */
  clientId: string;
  /** As it was requested. */
  mode: LockMode;
  /** Name of the resource. */
  name: string;
}

/**
 * Whether a process runs:
 *
 * - `'stopped'` by a signal (state T), `'traced'` by a debugger, `'frozen'` with its container;
 * - `'zombie'` (ended, but its parent has not read its status);
 * - `'gone'` (ended; a command that it ran keeps the lock);
 * - `'unknown'` (of another machine or PID namespace, of another user whose processes /proc hides
 *   (`hidepid`), or without its own /proc).
 */
export type ProcessState =
  'running' | 'stopped' | 'traced' | 'frozen' | 'zombie' | 'gone' | 'unknown';

/** One request, pending or granted, with all details about it and its process. */
export interface InspectedLock extends LockDetail {
  /** Whether the process of the request runs. */
  readonly processState: ProcessState;
  /** The command line of the process; '' if it is not known. */
  readonly command: string;
  /** See {@link LockOptions.priority}. */
  readonly priority: TaskPriority;
  /** How many younger requests have passed this one in the queue, 0 to 16; 0 if it is held. */
  readonly overtakes: number;
}

/**
 * The result of {@link LockManager.inspect}: plain data, in the order of {@link LockManager.query}.
 */
export interface LockManagerInspection {
  /** The granted ones. */
  readonly held: InspectedLock[];
  /** The waiting ones, in the order of their queues. */
  readonly pending: InspectedLock[];
  /**
   * Location of these locks, for a person to read: the scheme, the directory or the hosts, and the
   * bucket. Locks of `local:` belong to one thread. undefined: a custom backend does not say.
   */
  readonly place?: string | undefined;
}

/** The result of {@link LockManager.query}: plain data, in request order per name. */
export interface LockManagerSnapshot {
  /** The granted requests. */
  held: LockInfo[];
  /** The waiting requests, in the order of their queues. */
  pending: LockInfo[];
}

/**
 * The lock manager of a bucket: all managers of the same bucket share its locks.
 * @see https://w3c.github.io/web-locks/#api-lock-manager
 */
export declare class LockManager {
  /** `new LockManager()` throws a TypeError. */
  private constructor();
  /**
   * Runs `callback` while the lock `name` is held, then releases it. Requests for a name are
   * granted in the order in which they were made.
   * @param name - Resource name, of any length that the backend takes; may be empty, must not start
   *   with `-`. Compared by UTF-16 code units.
   * @param callback - Gets the lock. A pending request keeps the event loop alive, a held lock does
   *   not.
   * @returns What `callback` returned, once the lock is released. Never throws. Rejects with:
   *
   *   - what `callback` threw or rejected with;
   *   - `signal.reason` (aborted while pending), `TimeoutError` (pending for longer than
   *     `timeout`);
   *   - {@link LockLostError} (the lock was lost; name `AbortError` if it was stolen);
   *   - `NotSupportedError` (reserved name, options that exclude each other);
   *   - `TypeError` (argument of a wrong type), `InvalidStateError` (closed);
   *   - beyond the standard: `QuotaExceededError` (no room, `maxPending`), `SecurityError` (no access),
   *     {@link DeadlockError}, `OperationError` (the system failed), and the error of a native part
   *     that cannot be loaded.
   * @see https://w3c.github.io/web-locks/#api-lock-manager-request
   * @example
   * ```ts
   * const balance = await locks.request('ledger', async () => {
   *   await appendToLedger(entry); // no other holder is here
   *   return readBalance();
   * });
   * ```
   */
  request<T>(name: string, callback: LockGrantedCallback<T>): Promise<Awaited<T>>;
  /**
   * With `ifAvailable: true` the callback gets `null` if the lock is not available at once.
   * @param options - See {@link LockOptions}.
   * @example
   * ```ts
   * const isLeader = await locks.request('leader', { ifAvailable: true }, (lock) => lock !== null);
   * ```
   */
  request<T>(
    name: string,
    options: LockOptions & { ifAvailable?: false | undefined },
    callback: LockGrantedCallback<T>,
  ): Promise<Awaited<T>>;
  /** With any options: the callback may get `null`. */
  request<T>(
    name: string,
    options: LockOptions,
    callback: LockGrantedCallback<T, Lock | null>,
  ): Promise<Awaited<T>>;

  /**
   * Takes a snapshot of the whole bucket: consistent for each name, and over all names unless they
   * change faster than they are read.
   * @returns Plain data. Rejects with `InvalidStateError` after {@link LockManager.close}. Never
   *   throws.
   * @see https://w3c.github.io/web-locks/#api-lock-manager-query
   */
  query(): Promise<LockManagerSnapshot>;

  /**
   * The lock as a handle, beyond the standard.
   * @param options - As for {@link LockManager.request}.
   * @returns The lock, held until its `release()`; `null` if `ifAvailable` was refused. The garbage
   *   collection of an unreleased handle releases it, with a warning: do not rely on this. The
   *   `signal` of a handle keeps the handle. Rejects like {@link LockManager.request} while the
   *   request waits; `signal` reports a later loss. Never throws.
   * @example
   * ```ts
   * await using lock = await locks.acquire('ledger');
   * await appendToLedger(entry, lock.token);
   * ```
   */
  acquire(
    name: string,
    options?: LockOptions & { ifAvailable?: false | undefined },
  ): Promise<LockHandle>;
  /** With any options: `null` if `ifAvailable` was refused. */
  acquire(name: string, options: LockOptions): Promise<LockHandle | null>;

  /**
   * Runs `callback` while all of the locks are held, beyond the standard. The locks are taken one
   * by one in the order of their names (by UTF-16 code units). So calls that share names never wait
   * for each other in a cycle.
   * @param names - Any number; repeated ones are taken once.
   * @param options - As for {@link LockManager.request}, for each of the locks; `timeout` and
   *   `signal` limit the whole wait. The option `holdLimit` is a `NotSupportedError`: the limit of
   *   the first lock would pass while the call waits for the others.
   * @param callback - Gets the locks in the order of `names`, or `null` if `ifAvailable` was
   *   refused for one of them.
   * @returns What `callback` returned, once all are released. Rejects like {@link
   *   LockManager.request}, after it has released all locks that it took. If a lock is lost during
   *   the callback, it rejects at once, and the other locks are held until the callback ends. Never
   *   throws.
   * @example
   * ```ts
   * await locks.requestAll([from, to], ([source, target]) => transfer(source, target));
   * ```
   */
  requestAll<T>(names: Iterable<string>, callback: (locks: Lock[]) => T): Promise<Awaited<T>>;
  /** With options; see the first form. */
  requestAll<T>(
    names: Iterable<string>,
    options: LockOptions & { ifAvailable?: false | undefined },
    callback: (locks: Lock[]) => T,
  ): Promise<Awaited<T>>;
  /** With options; see the first form. */
  requestAll<T>(
    names: Iterable<string>,
    options: LockOptions,
    callback: (locks: Lock[] | null) => T,
  ): Promise<Awaited<T>>;

  /**
   * Blocks this thread until the lock is granted, calls `callback`, and releases the lock; beyond
   * the standard. For worker threads and command-line programs: while it waits, nothing else runs
   * on this thread, not even code that would release the lock. To end a waiting worker, call
   * `worker.terminate()`. A cycle through other threads or processes is not detected: set a
   * `timeout`.
   * @param options - As for {@link LockManager.request}, without `signal`.
   * @returns What `callback` returned, after the release.
   * @throws `TimeoutError` (waited for longer than `timeout`). Also a {@link DeadlockError}, if this
   *   thread holds the lock or has an earlier request for it, by whatever manager. Also a
   *   {@link LockLostError}, a TypeError for a callback that returns a thenable, the error of
   *   `callback`, and the errors of {@link LockManager.request}.
   * @example
   * ```ts
   * const port = locks.requestSync('ports', { timeout: 1_000 }, () => takeNextPort());
   * ```
   */
  requestSync<T>(name: string, callback: (lock: Lock) => T): T;
  /** With options; see the first form. */
  requestSync<T>(
    name: string,
    options: Omit<LockOptions, 'signal'> & { ifAvailable?: false | undefined },
    callback: (lock: Lock) => T,
  ): T;
  /** With options; see the first form. */
  requestSync<T>(
    name: string,
    options: Omit<LockOptions, 'signal'>,
    callback: (lock: Lock | null) => T,
  ): T;

  /**
   * The snapshot of {@link LockManager.query} with all details, beyond the standard: process and
   * thread, token, label, limits, times, whether the process runs, and its command line.
   * @returns Plain data. Rejects with `InvalidStateError` after {@link LockManager.close}. Never
   *   throws.
   */
  inspect(): Promise<LockManagerInspection>;

  /**
   * Whether the lock is held now, in any mode; beyond the standard. True also for a granted lock
   * whose callback has not run yet, and if the part of the table with its name cannot be read for
   * ten milliseconds. Then a process is stopped inside, or has died inside and the background
   * thread has yet to repair the part.
   * @throws A TypeError without a name, a DOMException `InvalidStateError` after
   *   {@link LockManager.close}, and what the bucket cannot be opened for. Over a broker,
   *   PostgreSQL and etcd `InvalidStateError` also without an answer for ten seconds, or a TTL if
   *   that is longer.
   */
  isLocked(name: string): boolean;

  /**
   * Events, from now on, of the lock of this name or of all locks of the bucket, in all threads and
   * processes; beyond the standard. The events of one name arrive in their order. A request that is
   * granted at once is never `queued`, and a refused `ifAvailable` request is not an event.
   *
   * Watching adds a small cost to each lock operation; without watchers there is none. No lock
   * waits for a watcher: a slow watcher loses the oldest events, and {@link LockEvent.lost} of the
   * next event counts them. At most 16,384 events of the bucket may be unread (at the default
   * capacity), in plain JavaScript 4,096. Events arrive within about 20 ms.
   *
   * A waiting `next()` keeps the event loop alive; a watch that is not being read does not. The
   * watch is ended by `return()`, which leaving a `for await` calls, by {@link LockManager.close},
   * and by the garbage collection of the iterator.
   * @param name - `undefined`: all locks.
   * @returns The iterator. Its `next()` rejects with the reason of `signal` once that has aborted.
   *   The method also rejects with `InvalidStateError` when the lock table was removed or replaced;
   *   then the watch is over.
   * @throws A TypeError, a DOMException `InvalidStateError` after {@link LockManager.close}, and
   *   what the bucket cannot be opened for; `QuotaExceededError` when there is no memory for the
   *   events.
   * @example
   * ```ts
   * for await (const { type, name, pid } of locks.watch()) {
   *   if (type === 'died') console.warn(`process ${pid} died with '${name}'`);
   * }
   * ```
   */
  watch(name?: string, options?: LockWatchOptions): LockWatch;

  /**
   * Detaches this agent for good, beyond the standard. Its locks are released, and their
   * `request()` rejects with a {@link LockLostError} (`reason: 'disconnected'`); its waiting
   * requests reject with an `AbortError`. Later requests reject with an `InvalidStateError`. Has no
   * effect the second time.
   */
  close(): void;
  /** The same as {@link LockManager.close}, for `using`. */
  [Symbol.dispose](): void;
}

/**
 * The lock was taken away while it was held. `name` is `AbortError` for `stolen`, otherwise
 * `LockLostError`.
 */
export declare class LockLostError extends DOMException {
  /** @internal */
  constructor(reason: LockLossReason, token: bigint);
  /** Why the lock was lost. */
  readonly reason: LockLossReason;
  /** The fencing token of the lost lock. Not enumerable, and a string in JSON: a copy has none. */
  readonly token: bigint;
}

/** One request of a cycle. */
export interface DeadlockMember {
  /** Name of the resource. */
  name: string;
  /** As it was requested. */
  mode: LockMode;
  /** Id of the agent that holds or waits. */
  clientId: string;
  /** Id of its process; 0: of another PID namespace. */
  pid: number;
  /** The name of its machine, if several machines share the locks. */
  host?: string;
  /** Id of its thread; 0 is the main thread. */
  threadId: number;
}

/** The request would never be granted: it waits for itself, directly or through other requests. */
export declare class DeadlockError extends DOMException {
  /** @internal */
  constructor(message: string, cycle: DeadlockMember[]);
  /** The cycle: each request waits for the next one. */
  readonly cycle: DeadlockMember[];
}

/**
 * The bucket `default` of this user on this machine, shared by all threads of all processes. With a
 * shared directory in `HOLDFAST_DIR` it is the bucket of all members of the directory's group.
 */
export declare const locks: LockManager;

/** Options of {@link LockManager.watch}. A value of a wrong type is a TypeError. */
export interface LockWatchOptions {
  /**
   * Ends the watch: `next()` rejects with its reason.
   * @defaultValue none
   */
  signal?: AbortSignal | undefined;
}

/** The result of {@link LockManager.watch}. */
export interface LockWatch extends AsyncIterator<LockEvent, undefined, void> {
  /** Returns the next event, as soon as there is one. */
  next(): Promise<IteratorResult<LockEvent, undefined>>;
  /** Ends the watch. */
  return(): Promise<IteratorReturnResult<undefined>>;
  /** The watch itself, for `for await`. */
  [Symbol.asyncIterator](): LockWatch;
  /** Ends the watch, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Options of {@link openLockManager}. A value of a wrong type or range is a TypeError. */
export interface OpenLockManagerOptions {
  /**
   * Decides which requests hold locks, in place of a bucket in shared memory. `close()` of the lock
   * manager closes it. Not together with `url`.
   * @defaultValue the backend that `url` selects
   */
  backend?: LockBackend | undefined;
  /**
   * Name of the bucket.
   * @defaultValue 'default'
   */
  bucket?: string | undefined;
  /**
   * Whether `inspect()`, in any process, shows where the program made the requests of this lock
   * manager. Each request then takes a stack trace, which costs several times as much as the
   * request.
   * @defaultValue false
   */
  callSites?: boolean | undefined;
  /**
   * Size limit in bytes of a bucket that is created: 1 MiB to 16 GiB, a multiple of 4,096. With
   * another number each request rejects with a TypeError. An existing bucket keeps its capacity. If
   * its capacity is another number, a process warning (`HOLDFAST_CAPACITY`) says so.
   * @defaultValue 67_108_864: 64 MiB, of which only what is used takes memory
   */
  capacity?: number | undefined;
  /**
   * Absolute path of the directory of buckets, in place of the directory that all processes of a
   * user share. A missing directory is made for this user alone. For the members of a group,
   * `holdfast share` makes a directory.
   * @defaultValue `HOLDFAST_DIR`; without that a directory of the user in `/dev/shm`
   */
  directory?: string | undefined;
  /**
   * The address of the locks: `shm:`, `broker:`, `local:`, or `postgres:`, `etcd:` or `etcds:`
   * (TLS) with hosts. The URLs `shm:` and `broker:` have a directory if it is not the default, as
   * in `broker:///srv/locks`. Processes share locks if their URLs name the same address.
   * @defaultValue `HOLDFAST_URL`; without that `shm:` on Linux and `broker:` elsewhere
   */
  url?: string | undefined;
}

/**
 * Opens another bucket, or a bucket at another address. It attaches at the first request or query.
 * If that fails, the call rejects, and the next one tries again.
 * @throws TypeError for a member of a wrong type, and for `backend` together with `url`.
 * @example
 * ```ts
 * const jobLocks = openLockManager({ bucket: 'jobs' });
 * ```
 */
export declare function openLockManager(options?: OpenLockManagerOptions): LockManager;

/**
 * Creates a lock manager in plain JavaScript for this thread alone; it shares its locks with no
 * other manager.
 */
export declare function createLocalLockManager(): LockManager;
