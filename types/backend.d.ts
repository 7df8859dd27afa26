import type { LockInfo, LockManagerSnapshot, LockMode } from './locks.js';
import type { TaskPriority } from './scheduler.js';

/** Why a lock was taken away from its holder. */
export type LockLossReason = 'stolen' | 'expired' | 'disconnected';

/** See {@link LockOptions.deadlock}. */
export type LockDeadlockAction = 'warn' | 'reject' | 'ignore';

/** The extensions that a request uses; a plain request has none, and pays nothing for them. */
export interface LockRequestExtras {
  /** Maximum number of shared holders, this request included, 1 to 2**31 - 1; 0: no limit. */
  readonly limit: number;
  /** Milliseconds (may be fractional) after which the lock is taken away with lost('expired'); 0: none. */
  readonly holdLimit: number;
  /**
   * Return {@link LockOutcome} `MISSED` (or call `missed()`) instead of queueing if so many
   * requests of the name wait already. From 0 to 2**31 - 1, or Infinity: any number; Infinity with
   * `ifAvailable`.
   */
  readonly maxPending: number;
  /**
   * Requests of a name wait by priority, then by age. A request that waits is passed by at most 16
   * younger ones. `changePriority()` follows a change.
   */
  readonly priority: TaskPriority;
  /** Shown by inspect(); '': none. UTF-16, cut at 120 code units in shared memory. */
  readonly label: string;
  /** Shown by inspect(): where the program made the request, 'file:line:column'; '': not known. */
  readonly callSite: string;
  /** The decision of the backend when this request is in a deadlock. */
  readonly deadlock: LockDeadlockAction;
  /** The lock in whose callback this request is made, if it is known and counts as waiting. */
  readonly enclosing: EnclosingLock | undefined;
}

/**
 * A word of 64 bits that a backend stores with the request, and returns as
 * {@link LockDetail.enclosingToken}. The word is the fencing token of a lock, with the option
 * `deadlock` in its two highest bits. Two halves of 32 bits, unsigned.
 */
export interface EnclosingLock {
  /** Upper 32 bits of the fencing token. */
  readonly tokenHigh: number;
  /** Lower 32 bits of the fencing token. */
  readonly tokenLow: number;
}

/**
 * A request as the lock manager passes it to a backend, one per call of `request()`. The backend
 * calls each of its methods at most once (`contentionChanged()` again and again), always in a later task or microtask: never from
 * inside {@link LockBackend.enqueue}, {@link LockBackend.release} or {@link LockBackend.cancel}.
 */
export interface LockBackendRequest {
  /** Any number of UTF-16 code units; lone surrogates are distinct. */
  readonly name: string;
  /** As it was requested. */
  readonly mode: LockMode;
  /** Return {@link LockOutcome} `MISSED` (or call `missed()`) instead of queueing. */
  readonly ifAvailable: boolean;
  /**
   * Take away every held lock of the name, and grant this request at once, ahead of the queue.
   */
  readonly steal: boolean;
  /**
   * `false`: the request has no timeout, so `isUndecided()` is never called. A backend that answers
   * later need not report that the request waits.
   */
  readonly isTimed?: boolean;
  /** Options beyond the standard; `undefined` if none was used. */
  readonly extras: LockRequestExtras | undefined;
  /** For the backend; the lock manager sets it to -1 and does not use it. */
  backendId: number;
  /**
   * The fencing token in two halves of 32 bits, signed or not; set before the grant is reported.
   */
  tokenHigh: number;
  /** Lower 32 bits of the fencing token. */
  tokenLow: number;
  /** The queued request was granted. */
  granted(): void;
  /** The request was refused (see `ifAvailable`, `maxPending`); only from backends that answer later. */
  missed(): void;
  /** The queued request can never be granted. */
  failed(error: DOMException): void;
  /**
   * The lock was taken away. For a queued request this reports the grant and the loss at once.
   * @param because Text for the error's message, if the reason is not enough.
   */
  lost(reason: LockLossReason, because?: string): void;
  /**
   * The highest priority of the requests that wait for the lock has changed; null: none waits any
   * more. See {@link LockBackend.watchContention}.
   */
  contentionChanged(priority: TaskPriority | null): void;
}

/** One request, pending or granted, with all details. */
export interface LockDetail extends LockInfo {
  /** Process id; 0: of another PID namespace. */
  readonly pid: number;
  /** The name of its machine, if several machines share the locks. */
  readonly host?: string;
  /** Node's `threadId`: 0 is the main thread. */
  readonly threadId: number;
  /**
   * The fencing token; null: pending. `inspect()` makes it and `enclosingToken` not enumerable, and
   * strings in JSON: a copy has neither.
   */
  readonly token: bigint | null;
  /** '': none. */
  readonly label: string;
  /** null: none; a backend may return 0. */
  readonly limit: number | null;
  /** Milliseconds; null: none; a backend may return 0. */
  readonly holdLimit: number | null;
  /** When it was requested, in milliseconds since 1970. */
  readonly since: number;
  /** Milliseconds from the request to the grant, or until now. */
  readonly waited: number;
  /** Milliseconds since the grant; null: pending. */
  readonly held: number | null;
  /** The `backendId` of the request in its own agent. */
  readonly requestId: number;
  /**
   * The token of the lock in whose callback it was requested; null: none is known, or `deadlock:
   * 'ignore'`. (A backend returns the whole word of {@link LockRequestExtras.enclosing}.)
   */
  readonly enclosingToken: bigint | null;
  /** `'reject'` in the callback of a lock; otherwise missing. */
  readonly deadlock?: LockDeadlockAction;
  /**
   * Position in the program that made the request, as 'file:line:column' (its last 120 code units);
   * '' unless its lock manager was opened with `callSites`.
   */
  readonly callSite: string;
  /** A backend may leave it out: `'user-visible'`. */
  readonly priority?: TaskPriority | undefined;
  /** How many younger requests have passed it, if it waits, 0 to 16. A backend may leave it out: 0. */
  readonly overtakes?: number | undefined;
}

/**
 * - `queued`: was made and has to wait;
 * - `granted`: holds the lock, at once or after a wait;
 * - `released`: released the lock;
 * - `aborted`: left the queue, because of its signal, a deadlock or `close()`;
 * - `timedout`: left the queue, because of its `timeout`;
 * - `stolen`, `expired`: lost the lock;
 * - `died`: was waiting or held the lock when its thread or process ended.
 */
export type LockEventType =
  'queued' | 'granted' | 'released' | 'aborted' | 'timedout' | 'stolen' | 'expired' | 'died';

/** An event of one request. */
export interface LockEvent {
  /** Kind of the event. */
  readonly type: LockEventType;
  /**
   * In shared memory cut to 65,536 code units, with another `capacity` in proportion to it: to
   * 262,144 at most.
   */
  readonly name: string;
  /** As it was requested. */
  readonly mode: LockMode;
  /** The agent that made the request. */
  readonly clientId: string;
  /** Process id; 0: of another PID namespace. */
  readonly pid: number;
  /** The name of its machine, if several machines share the locks. */
  readonly host?: string;
  /** Node's `threadId`: 0 is the main thread. */
  readonly threadId: number;
  /**
   * The fencing token; null: it never held the lock. `watch()` makes it not enumerable, and a
   * string in JSON: a copy has none.
   */
  readonly token: bigint | null;
  /** The priority of the request at the event. */
  readonly priority: TaskPriority;
  /**
   * How many younger requests had passed it in the queue. At `'granted'` it is the sum for its
   * wait; later events of a lock repeat it. Over etcd, also 0 for ends whose details were
   * compacted away, and if no request of the name has passed another since the watch began.
   */
  readonly overtakes: number;
  /**
   * Identifies a request of its agent: in shared memory the last 16 bits of
   * {@link LockDetail.requestId}. Over etcd, 0: the end of a request whose details were compacted
   * away.
   */
  readonly requestId: number;
  /** Milliseconds since 1970, exact to a few milliseconds. */
  readonly time: number;
  /**
   * Number of events of any name that this watcher missed just before this one: it was too slow, or
   * a process died while writing them. Usually 0.
   */
  readonly lost: number;
}

/** One reader of events, with its own position. */
export interface LockBackendWatch {
  /**
   * Returns the next events, at least one and at most `max`, oldest first; none once it is closed.
   * If too many are unread, the oldest are lost. Does not keep the event loop alive.
   * @throws DOMException if there will be no more events (rejects).
   */
  read(max: number): Promise<LockEvent[]>;
  /**
   * While the watch pauses it receives only incidents: `timedout`, `stolen`, `expired` and `died`.
   * Absent if a watch costs the watched processes nothing.
   */
  pause?(isPaused: boolean): void;
  /** Takes what there is to read now. Comes with `pause()`. */
  drain?(): LockEvent[];
  /**
   * The newest fencing token, which rises by one with each grant; undefined if it is not known any
   * more. Comes with `pause()`.
   */
  newestToken?(): bigint | undefined;
  /** Ends a waiting read. Idempotent. */
  close(): void;
}

/** The requests of a {@link LockBackend}, with all details. */
export interface LockInspection {
  /** The granted ones, oldest first. */
  readonly held: LockDetail[];
  /** The waiting ones, in the order of their queues. */
  readonly pending: LockDetail[];
}

/**
 * The result of a blocking wait: decided, timed out, or refused at once. A wait is refused because
 * this thread would first have to release what the request waits for. After a time-out or a refusal
 * the request is still queued.
 */
export type SyncOutcome = 'granted' | 'missed' | 'timeout' | 'deadlock';

/** `QUEUED`, `GRANTED` or `MISSED`. */
export type LockOutcome = 0 | 1 | 2;

/** The session of a backend with its server: a cluster of etcd, or a database. */
export interface SessionStatus {
  /** Whether there is a session. */
  connected: boolean;
  /** The server that is used now; `undefined` without one. */
  endpoint: string | undefined;
  /** Milliseconds until the locks count as lost, unless a call is answered. */
  leaseLeftMs: number | undefined;
  /** Requests that hold, wait or are on their way. */
  requests: number;
  /** How many sessions there have been. */
  sessions: number;
  /** How many of those sessions were lost. */
  lost: number;
  /** Calls of the session that were answered; undefined, like what follows, without a session. */
  roundTrips: number | undefined;
  /** Their total time in milliseconds. */
  roundTripMs: number | undefined;
  /** Answered calls that were made only to extend the session. */
  keepAlives: number | undefined;
}

/**
 * Decides which requests hold locks. The backend has the only lock queue: the lock manager
 * converts, checks, calls back and settles promises. A queued request keeps the event loop alive; a
 * held lock and an idle backend do not.
 */
export interface LockBackend {
  /** UUID of this agent. */
  readonly clientId: string;
  /**
   * Equal (`===`) for those backends of a thread that share their locks. A backend without it
   * shares with no other.
   */
  readonly table?: unknown;
  /**
   * Takes a request.
   * @throws DOMException if it is refused (`QuotaExceededError`, `InvalidStateError`,
   *   `SecurityError`); nothing is left behind then. At the end of the stack this method,
   *   `release()` and `cancel()` may throw a `RangeError` before they have any effect. Then the
   *   methods are called again where there is more room.
   * @param isBlocking The thread waits for the outcome: a grant need not follow older notices.
   */
  enqueue(request: LockBackendRequest, isBlocking?: boolean): LockOutcome;
  /**
   * Releases a granted lock. Has no effect after `lost()`.
   * @returns Why the lock had been taken away, if `lost()` was still to come; then it is not
   *   called. A promise of it (never rejected) if the backend cannot know at once, or the release
   *   takes effect later.
   * @param isMicrotask Whether the stack is known to have room: a microtask calls.
   */
  release(
    request: LockBackendRequest,
    isMicrotask?: boolean,
  ): LockLossReason | undefined | Promise<LockLossReason | undefined>;
  /**
   * The same for `requestSync()`, from backends whose `release()` may return a promise. Blocks the
   * thread until the release is in effect.
   * @throws DOMException if it cannot be known why, or whether, the lock had been taken away. The
   *   lock is released nevertheless, later.
   */
  releaseSync?(request: LockBackendRequest): LockLossReason | undefined;
  /**
   * `extras.priority` of a request that waits has changed. It keeps its age, and is moved from its
   * position on, now or soon; it may be granted, and so may others. Has no effect on a request that does not wait.
   * Without this method a request keeps the priority with which it began.
   */
  changePriority?(request: LockBackendRequest): void;
  /** Whether a request whose priority changes goes behind its equals, whatever its age. */
  readonly movesBehindEquals?: boolean;
  /**
   * The highest priority of the requests that wait now for the lock that this request holds, as far
   * as it is known; null: none waits. When it changes, the backend calls `contentionChanged()` of
   * this request, with the latest value if it changes fast. Called again, it returns the latest value.
   * Without this method `lock.contended` never aborts, and `lock.signal` has the priority of the
   * request.
   */
  watchContention?(request: LockBackendRequest): TaskPriority | null;
  /**
   * Removes a queued request; `isTimeout`: because its timeout has passed. None of its methods is
   * called afterwards. If a grant was on its way, the backend releases the lock.
   */
  cancel(request: LockBackendRequest, isTimeout?: boolean): void;
  /**
   * Whether the backend does not know yet if the request has to wait, because its answer comes
   * later, or a dead holder is being removed. A free lock is granted whatever the timeout, so a
   * timeout waits for this answer, at most a second.
   */
  isUndecided?(request: LockBackendRequest): boolean;
  /**
   * Blocks the thread until a queued request is decided, at most `timeout` ms (may be Infinity).
   * Calls no method of this request, but may call methods of other requests. A worker that waits
   * here can be terminated. The result for a lock that was lost again before this returns is
   * `'granted'`. Then `release()` returns why the lock was lost.
   * @throws DOMException instead of `failed()`; the request is gone then.
   */
  waitSync?(request: LockBackendRequest, timeout: number): SyncOutcome;
  /** A snapshot of the whole bucket, consistent per name; held and pending in request order. */
  snapshot(): LockManagerSnapshot | Promise<LockManagerSnapshot>;
  /** Like snapshot(), with all details; same order. */
  inspect(): LockInspection | Promise<LockInspection>;
  /**
   * Whether at least `min` (default 1) holders have the lock now, in any mode, or one exclusively.
   * Synchronous.
   */
  isLocked(name: string, min?: number): boolean;
  /**
   * Why nothing is decided for a request whose timeout is over: a server that does not answer.
   * `undefined`: the request waits for its lock. Of `requestSync()` after `holdersOf()`.
   * @param isSilent `true`: `holdersOf()` was not answered.
   */
  silenceOf?(request: LockBackendRequest, isSilent?: boolean): string | undefined;
  /**
   * At most `max` holders of the lock; the message of a timeout names them. With `isBlocking` they
   * are returned synchronously, and the thread may be blocked for that. Neither throws nor rejects:
   * gives none if they cannot be read.
   */
  holdersOf?(
    name: string,
    max?: number,
    isBlocking?: boolean,
  ): LockDetail[] | Promise<LockDetail[]>;
  /**
   * Everything that can be reached from queued requests of this agent, given by their `backendId`.
   * That includes the holders that the requests wait for, the requests and locks inside those, and
   * so on. The result contains all that exists during the whole call. The deadlock detector uses
   * this, or inspect() if it is missing.
   */
  waitsOf?(requestIds: readonly number[], options: WaitWalkOptions): Promise<WaitWalk>;
  /**
   * Watches the events, from now on, of the lock of this name or of all. `close()` of the backend
   * closes it.
   * @throws DOMException as of `enqueue()`.
   */
  watch(name: string | undefined): LockBackendWatch;
  /**
   * Drops everything that this agent holds or waits for, and reports that before it returns: queued
   * requests get `failed(AbortError)`, held ones `lost('disconnected')`. Idempotent. Afterwards
   * `enqueue()` and `snapshot()` throw an `InvalidStateError`.
   */
  close(): void;
  /** The name of the bucket; absent without buckets. */
  readonly bucket?: string;
  /**
   * Location of its locks, for a person to read: a URL that ends with the bucket and has no
   * password.
   */
  readonly place?: string;
  /** The folder of its files on this machine; absent without files. */
  readonly folder?: string;
  /** How full the lock table is; absent without a limit. */
  usage?(): LockTableUsage;
  /** The session with a server of locks; absent without one. */
  status?(): Promise<SessionStatus>;
  /**
   * New descriptors that keep this process's locks held while they are open in any process. For a
   * command that keeps a lock after this process was killed. The caller closes the descriptors.
   */
  lifeDescriptors?(): number[];
}

/** Result of {@link LockBackend.waitsOf}. */
export interface WaitWalk extends LockInspection {
  /** Whether all of it existed at one moment; if not, it was read piece by piece. */
  readonly isOneMoment?: boolean;
}

/** How much {@link LockBackend.waitsOf} reads. */
export interface WaitWalkOptions {
  /** Also read requests that wait for the same names and cannot be reached otherwise. */
  readonly withQueues: boolean;
}

/** How full a lock table is. */
export interface LockTableUsage {
  /** Bytes of the whole table. */
  readonly capacity: number;
  /** Of the format in shared memory. */
  readonly layoutVersion: number;
  /** Cells in use: one for each request and each name, more for long names and labels. */
  readonly usedCells: number;
  /** Most that there can be. */
  readonly maxCells: number;
  /** Processes that use the table. */
  readonly processes: number;
  /** Most that there can be. */
  readonly maxProcesses: number;
  /** Agents (threads) that use the table. */
  readonly agents: number;
  /** Most that there can be. */
  readonly maxAgents: number;
}

export type { LockInfo };
