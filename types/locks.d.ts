import type { LockBackend, LockDetail, LockEvent, LockLossReason } from './backend.js';

/** `'exclusive'`: the only holder. `'shared'`: together with other shared holders. */
export type LockMode = 'exclusive' | 'shared';

/**
 * Options of {@link LockManager.request}, all optional.
 * @see https://w3c.github.io/web-locks/#dictdef-lockoptions
 */
export interface LockOptions {
  /**
   * Do not wait: call back with `null` when the lock cannot be granted at once, because it is held in
   * a mode that excludes this one, or other requests wait. Not together with `steal` or `signal`.
   * @defaultValue false
   */
  ifAvailable?: boolean | undefined;
  /**
   * Alone, or together with other shared holders.
   * @defaultValue 'exclusive'
   */
  mode?: LockMode | undefined;
  /**
   * Ends the wait when it aborts: the request rejects with its reason. Of no effect once the callback
   * has been called.
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
   * What happens, beyond the standard, when this request closes a deadlock: a cycle of requests,
   * over any number of threads and processes, each waiting for a lock in whose callback the next was
   * made. holdfast looks for cycles when a request inside a callback has waited for 100 ms.
   *
   * - `'warn'`: a process warning (`HOLDFAST_DEADLOCK`) names the whole cycle.
   * - `'reject'`: this request rejects with a {@link DeadlockError}. Of several requests with
   *   `'reject'` in a cycle, the last one is rejected.
   * - `'ignore'`: nothing.
   *
   * Before Node 24 a callback is followed to its first `await` only, until this option or
   * `reentrant` is used for the first time. A cycle that is not followed is reported once, as a
   * possible deadlock, after five seconds. A request that its callback does not await is in no
   * deadlock.
   * @defaultValue 'warn'
   */
  deadlock?: 'warn' | 'reject' | 'ignore' | undefined;
  /**
   * Maximum hold in milliseconds, beyond the standard: above 0 and up to 2**31 - 1, or `Infinity`
   * for none. When it passes, the lock is taken away: {@link Lock.signal} aborts, `request()`
   * rejects with a {@link LockLostError} (`reason: 'expired'`), the next request is granted. A
   * callback that runs is not interrupted; one that has not run by then is not called.
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
   * 1 to 2**31 - 1, and only with `mode: 'shared'`; anything else is a TypeError. Holders without a
   * limit count too. The queue stays strict: no request overtakes one that waits for room.
   * @defaultValue no limit
   */
  limit?: number | undefined;
  /**
   * Needs no lock of its own inside the callback of one that covers it, beyond the standard: of the
   * same name, held exclusively or, for a shared request, in any mode. The callback is then called
   * with the lock that is held, which is not released before it has ended. Requests that are made
   * side by side in one callback queue among themselves, by the rules of all locks, and their other
   * options count there. What is begun inside and outlives the callback is covered no more, nor is
   * what outlives the callback of `requestSync()`. Outside of such a callback it makes no
   * difference. For `request()` and `requestSync()`; before Node 24 pass it to the outer request
   * too.
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
 * caller. The lock is held until what it returns has settled.
 */
export type LockGrantedCallback<T, L extends Lock | null = Lock> = (lock: L) => T;

/**
 * A granted request.
 * @see https://w3c.github.io/web-locks/#api-lock
 */
export declare class Lock {
  /** `new Lock()` throws a TypeError. */
  private constructor();
  /** The resource name that was asked for. */
  readonly name: string;
  /** The mode that was asked for. */
  readonly mode: LockMode;
  /**
   * Fencing token, beyond the standard: larger at every grant in the bucket. Hand it to the
   * resource that the lock protects and let that refuse smaller ones than it has seen.
   */
  readonly token: bigint;
  /**
   * Aborts, beyond the standard, when the lock is lost while it is held; its `reason` is the {@link
   * LockLostError} that `request()` rejects with. Hand it to what must end then.
   * @example
   * ```ts
   * await locks.request('feed', ({ signal }) => fetch(url, { signal }));
   * ```
   */
  readonly signal: AbortSignal;
}

/** A lock that is held until its `release()` is called: what {@link LockManager.acquire} gives. */
export interface LockHandle extends Lock {
  /** Releases the lock before it returns. No effect the second time, or when the lock was lost. */
  release(): void;
  /** The same, for `using`. */
  [Symbol.dispose](): void;
  /** The same, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** One held or pending request in a snapshot. */
export interface LockInfo {
  /** UUID of the agent (one Node environment: the main thread or a worker thread) that asked. */
  clientId: string;
  /** As it was requested. */
  mode: LockMode;
  /** Of the resource. */
  name: string;
}

/**
 * Whether a process runs: `'stopped'` by a signal (state T), `'traced'` by a debugger, `'frozen'` with
 * its container, `'zombie'` (ended, and its parent has not asked for its status), `'gone'` (ended; a
 * command that it ran keeps the lock), `'unknown'` (of another PID namespace, or there is no /proc).
 */
export type ProcessState =
  'running' | 'stopped' | 'traced' | 'frozen' | 'zombie' | 'gone' | 'unknown';

/** One request, pending or granted, with what there is to know about it and its process. */
export interface InspectedLock extends LockDetail {
  /** Whether the process of the request runs. */
  readonly processState: ProcessState;
  /** The command line of the process; '' where it is not known. */
  readonly command: string;
}

/** What {@link LockManager.inspect} gives: plain data, in the order of {@link LockManager.query}. */
export interface LockManagerInspection {
  /** The granted ones. */
  readonly held: InspectedLock[];
  /** The waiting ones, in the order of their queues. */
  readonly pending: InspectedLock[];
}

/** What {@link LockManager.query} gives: plain data, in the order of the requests for each name. */
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
   * @param name - Resource name of any length; may be empty, must not start with `-`. Compared by
   *   UTF-16 code units.
   * @param callback - Gets the lock. A pending request keeps the event loop alive, a held lock does
   *   not.
   * @returns What `callback` returned, once the lock is released. Rejects with what `callback`
   *   threw or rejected with,
   * `signal.reason` (aborted while pending), `TimeoutError` (pending for longer than `timeout`),
   * {@link LockLostError} (stolen: name `AbortError`; held for longer than `holdLimit`: name
   * `TimeoutError`),
   * `NotSupportedError` (reserved name, options that exclude each other), `TypeError` (argument of
   * a wrong type), `InvalidStateError` (closed), `QuotaExceededError` (bucket full; beyond the
   * standard). Never throws.
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
   * With `ifAvailable: true` the callback gets `null` where the lock cannot be had at once.
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
   * Takes a consistent snapshot of the whole bucket.
   * @returns Plain data. Rejects with `InvalidStateError` after {@link LockManager.close}. Never
   *   throws.
   * @see https://w3c.github.io/web-locks/#api-lock-manager-query
   */
  query(): Promise<LockManagerSnapshot>;

  /**
   * The lock as a handle, beyond the standard.
   * @param options - Those of {@link LockManager.request}.
   * @returns The lock, held until its `release()`; `null` where `ifAvailable` was refused. A handle
   *   that is garbage-collected without a release is released then, with a warning: a net, not a
   *   way to release. Rejects like {@link LockManager.request} while the request waits; a later
   *   loss is told by its `signal`. Never throws.
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
  /** With any options: `null` where `ifAvailable` was refused. */
  acquire(name: string, options: LockOptions): Promise<LockHandle | null>;

  /**
   * Runs `callback` while all of the locks are held, beyond the standard. They are taken one after
   * the other in the order of their names (by UTF-16 code units), whatever the order given, so
   * calls that share names never wait for each other in a cycle.
   * @param names - Any number; repeated ones are taken once.
   * @param options - Those of {@link LockManager.request}, for each of the locks; `timeout` and
   *   `signal` are about the wait for all of them.
   * @param callback - Gets the locks in the order of `names`, or `null` where `ifAvailable` was
   *   refused for one of them.
   * @returns What `callback` returned, once all are released. Rejects like {@link
   *   LockManager.request}, with nothing held that was taken for it; when one of the locks is lost
   *   during the callback it rejects at once, and the others are held until the callback ends.
   *   Never throws.
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
   * Blocks the thread until the lock is granted, runs `callback`, releases; beyond the standard.
   * For worker threads and command-line programs: while it waits nothing else of this thread runs,
   * not even what would release the lock. A worker that waits can be terminated.
   * @param options - Those of {@link LockManager.request} without `signal`.
   * @returns What `callback` returned, after the release.
   * @throws `TimeoutError` (waited for longer than `timeout`), {@link DeadlockError} at once where
   *   this manager itself holds what the request would wait for, or waits before it;
   *   {@link LockLostError}; TypeError for a callback that returns a thenable; what `callback`
   *   threw, and what {@link LockManager.request} rejects with.
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
   * The snapshot of {@link LockManager.query} with everything there is to know, beyond the
   * standard: process and thread, token, label, limits, for how long, whether the process runs, and
   * its command line.
   * @returns Plain data. Rejects with `InvalidStateError` after {@link LockManager.close}. Never
   *   throws.
   */
  inspect(): Promise<LockManagerInspection>;

  /**
   * Whether the lock is held now, in any mode; beyond the standard. True for a lock that
   * was granted to the next holder, whose callback has still to run.
   * @throws TypeError without a name, DOMException `InvalidStateError` after {@link
   *   LockManager.close}, and what the bucket cannot be opened for.
   */
  isLocked(name: string): boolean;

  /**
   * What happens from now on to the lock of this name, or to all locks of the bucket, in whatever
   * thread and process; beyond the standard. The events of one name come in the order in which it
   * happened. A request that is granted at once is never `queued`, and one that `ifAvailable`
   * refuses is no event.
   *
   * Watching adds a small cost to each lock operation; without watchers there is none. No lock waits
   * for a watcher: a slow one loses the oldest events, and {@link LockEvent.lost} of the next event
   * counts them. A watcher may be behind by 16,384 events of the bucket (at the default capacity),
   * in plain JavaScript by 4,096. Events arrive within about 20 ms.
   *
   * `next()` keeps the event loop alive while it waits; a watch that is not read does not.
   * `return()`, which leaving a `for await` calls, ends it; so does {@link LockManager.close}, and
   * so does the garbage collection of the iterator.
   * @param name - All locks where it is undefined.
   * @returns The iterator. `next()` rejects with the reason of `signal` once that has aborted, and
   *   with `InvalidStateError` when the lock table was removed or replaced; then it is over.
   * @throws TypeError, DOMException `InvalidStateError` after {@link LockManager.close}, and what
   *   the bucket cannot be opened for; `QuotaExceededError` when there is no memory for the events.
   * @example
   * ```ts
   * for await (const { type, name, pid } of locks.watch()) {
   *   if (type === 'died') console.warn(`process ${pid} died with '${name}'`);
   * }
   * ```
   */
  watch(name?: string, options?: LockWatchOptions): LockWatch;

  /**
   * Detaches this agent for good, beyond the standard: what it holds is released and its
   * `request()` rejects with a {@link LockLostError} (`reason: 'disconnected'`), what it waits for
   * rejects with an `AbortError`. Later requests reject with an `InvalidStateError`. No effect the
   * second time.
   */
  close(): void;
  /** The same as {@link LockManager.close}, for `using`. */
  [Symbol.dispose](): void;
}

/**
 * The lock was taken away while it was held. `name` is `TimeoutError` for `expired`, otherwise
 * `AbortError`.
 */
export declare class LockLostError extends DOMException {
  /** @internal */
  constructor(reason: LockLossReason, token: bigint);
  /** Why it was lost. */
  readonly reason: LockLossReason;
  /** The fencing token of the lost lock. */
  readonly token: bigint;
}

/** One request of a cycle. */
export interface DeadlockMember {
  /** Of the resource. */
  name: string;
  /** As it was requested. */
  mode: LockMode;
  /** Of the agent that holds or waits. */
  clientId: string;
  /** Of its process. */
  pid: number;
  /** Of its thread; 0 is the main thread. */
  threadId: number;
}

/** The request would never be granted: it waits, perhaps through others, for itself. */
export declare class DeadlockError extends DOMException {
  /** @internal */
  constructor(message: string, cycle: DeadlockMember[]);
  /** Who waits for whom, each for the next one. */
  readonly cycle: DeadlockMember[];
}

/** The bucket `default` of this user on this machine, shared by all threads of all processes. */
export declare const locks: LockManager;

/** Options of {@link LockManager.watch}. */
export interface LockWatchOptions {
  /**
   * Ends the watch: `next()` rejects with its reason.
   * @defaultValue none
   */
  signal?: AbortSignal | undefined;
}

/** What {@link LockManager.watch} gives. */
export interface LockWatch extends AsyncIterator<LockEvent, undefined, void> {
  /** The next event, as soon as there is one. */
  next(): Promise<IteratorResult<LockEvent, undefined>>;
  /** Ends the watch. */
  return(): Promise<IteratorReturnResult<undefined>>;
  /** The watch itself, for `for await`. */
  [Symbol.asyncIterator](): LockWatch;
  /** Ends the watch, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Options of {@link openLockManager}. */
export interface OpenLockManagerOptions {
  /**
   * Who holds what, in place of a bucket in shared memory. Not together with `url`.
   * @defaultValue the one that `url` means
   */
  backend?: LockBackend | undefined;
  /**
   * Name of the bucket.
   * @defaultValue 'default'
   */
  bucket?: string | undefined;
  /**
   * Whether `inspect()`, in whatever process, shows where the requests of this lock manager were
   * made. Each of them then takes a stack trace, several times what the request costs.
   * @defaultValue false
   */
  callSites?: boolean | undefined;
  /**
   * Size limit in bytes, where the bucket has to be created. One that is there with another capacity
   * keeps it, and a process warning (`HOLDFAST_CAPACITY`) says so.
   * @defaultValue 67_108_864: 64 MiB, of which only what is used takes memory
   */
  capacity?: number | undefined;
  /**
   * Where buckets are, in place of the directory that all processes of a user share: an absolute path.
   * @defaultValue `HOLDFAST_DIR`; without that a directory of the user in `/dev/shm`
   */
  directory?: string | undefined;
  /**
   * Where the locks live: `shm:`, `broker:` (both with a directory, if not the default one, as in
   * `broker:///srv/locks`) or `local:`. Two processes share locks when their URLs mean the same
   * place.
   * @defaultValue `HOLDFAST_URL`; without that `shm:` on Linux and `broker:` elsewhere
   */
  url?: string | undefined;
}

/**
 * Opens another bucket, or a bucket in another place. Attaches at the first request or query:
 * problems with the place reject that one, and the next one tries again.
 * @throws TypeError for a member of a wrong type, and for `backend` together with `url`.
 * @example
 * ```ts
 * const jobLocks = openLockManager({ bucket: 'jobs' });
 * ```
 */
export declare function openLockManager(options?: OpenLockManagerOptions): LockManager;

/** Makes a lock manager in plain JavaScript for this thread alone, shared with no other manager. */
export declare function createLocalLockManager(): LockManager;
