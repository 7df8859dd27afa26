import type { LockInfo, LockManagerSnapshot, LockMode } from './locks.js';

/** Why a lock was taken away from its holder. */
export type LockLossReason = 'stolen' | 'expired' | 'disconnected';

/** See {@link LockOptions.deadlock}. */
export type LockDeadlockAction = 'warn' | 'reject' | 'ignore';

/** What a request asks for beyond the standard; absent in a plain request, which pays nothing. */
export interface LockRequestExtras {
  /** At most so many shared holders with this request among them; 0: no limit. 1 … 2**31 - 1. */
  readonly limit: number;
  /** Milliseconds (may be fractional) after which the lock is taken away with lost('expired'); 0: none. */
  readonly holdLimit: number;
  /** Shown by inspect(); '' when none. UTF-16, cut at 120 code units in shared memory. */
  readonly label: string;
  /** Likewise: where in the program the request is made, 'file:line:column'; '' when not known. */
  readonly callSite: string;
  /** What is to be done about a deadlock that this request closes. */
  readonly deadlock: LockDeadlockAction;
  /** What is known of the lock in whose callback this one is made. */
  readonly enclosing: EnclosingLock | undefined;
}

/**
 * A word that a backend keeps with the request, to be found again as {@link
 * LockDetail.enclosingToken}: the fencing token of a lock, with what is to be done about a deadlock
 * in its two highest bits. Two halves of 32 bits, unsigned.
 */
export interface EnclosingLock {
  /** Upper 32 bits of the fencing token. */
  readonly tokenHigh: number;
  /** Lower 32 bits of the fencing token. */
  readonly tokenLow: number;
}

/**
 * What the lock manager hands to a backend, one per call of `request()`. The backend calls the four
 * methods, each at most once and never from inside {@link LockBackend.enqueue}, {@link
 * LockBackend.release} or {@link LockBackend.cancel}: always in a later task or microtask.
 */
export interface LockBackendRequest {
  /** UTF-16 code units, any length, lone surrogates kept apart. */
  readonly name: string;
  /** As it was requested. */
  readonly mode: LockMode;
  /** Answer {@link LockOutcome} `MISSED` (or call `missed()`) instead of queueing. */
  readonly ifAvailable: boolean;
  /**
   * Take every held lock of the name away and grant this request at once, before everything queued.
   */
  readonly steal: boolean;
  /** Options beyond the standard; `undefined` where none was given. */
  readonly extras: LockRequestExtras | undefined;
  /** Of no meaning to the lock manager; -1 at first. */
  backendId: number;
  /**
   * The fencing token in two halves of 32 bits, signed or not; set before the grant is reported.
   */
  tokenHigh: number;
  /** Lower 32 bits of the fencing token. */
  tokenLow: number;
  /** The queued request holds the lock now. */
  granted(): void;
  /** The queued `ifAvailable` request was refused; only from backends that answer late. */
  missed(): void;
  /** The queued request can never be granted. */
  failed(error: DOMException): void;
  /**
   * The lock was taken away after the grant; on a request that is queued it says both at once.
   * @param because For the message of the error, where the reason does not say enough.
   */
  lost(reason: LockLossReason, because?: string): void;
}

/** One request, pending or granted, with everything there is to know about it. */
export interface LockDetail extends LockInfo {
  /** Process id; 0 where it means nothing here (another PID namespace). */
  readonly pid: number;
  /** The name of its machine, where locks are shared by several. */
  readonly host?: string;
  /** Node's `threadId`: 0 is the main thread. */
  readonly threadId: number;
  /** The fencing token; null: pending. */
  readonly token: bigint | null;
  /** '': none. */
  readonly label: string;
  /** 0: none. */
  readonly limit: number;
  /** Milliseconds; 0: none. */
  readonly holdLimit: number;
  /** When it was requested, in milliseconds since 1970. */
  readonly since: number;
  /** Milliseconds from the request to the grant, or until now. */
  readonly waited: number;
  /** Milliseconds since the grant; null: pending. */
  readonly held: number | null;
  /** The `backendId` of the request in its own agent. */
  readonly requestId: number;
  /**
   * The token of the lock in whose callback it was requested; null: none; 1: its thread does not
   * follow its callbacks, it may be inside any lock of the thread. (A backend gives the whole word of
   * {@link LockRequestExtras.enclosing}.)
   */
  readonly enclosingToken: bigint | null;
  /** What is to be done about a deadlock, where that is not the default. */
  readonly deadlock?: LockDeadlockAction;
  /**
   * Where in its program it was requested, as 'file:line:column', the last 120 code units of it; ''
   * unless its lock manager was opened with `callSites`.
   */
  readonly callSite: string;
}

/**
 * - `queued`: was requested and has to wait;
 * - `granted`: holds the lock, at once or after it waited;
 * - `released`: gave it back;
 * - `aborted`: left the queue, because of its signal, a deadlock or `close()`;
 * - `timedout`: left the queue, because of its `timeout`;
 * - `stolen`, `expired`: lost the lock;
 * - `died`: was waiting or held the lock when its thread or process ended.
 */
export type LockEventType =
  'queued' | 'granted' | 'released' | 'aborted' | 'timedout' | 'stolen' | 'expired' | 'died';

/** What has happened to one request. */
export interface LockEvent {
  /** What happened. */
  readonly type: LockEventType;
  /**
   * In shared memory cut where it is longer than a 1,024th of the capacity in bytes: 65,536 code
   * units, unless chosen otherwise.
   */
  readonly name: string;
  /** As it was requested. */
  readonly mode: LockMode;
  /** Of the agent that made the request. */
  readonly clientId: string;
  /** Process id; 0 where it means nothing here (another PID namespace). */
  readonly pid: number;
  /** Node's `threadId`: 0 is the main thread. */
  readonly threadId: number;
  /** The fencing token; null: it never held the lock. */
  readonly token: bigint | null;
  /**
   * Tells the requests of one agent apart: in shared memory the last 16 bits of {@link
   * LockDetail.requestId}.
   */
  readonly requestId: number;
  /** Milliseconds since 1970, by a clock of a few milliseconds. */
  readonly time: number;
  /**
   * Number of events of any name that this watcher missed just before this one: it was too slow, or
   * a process died while writing them. Usually 0.
   */
  readonly lost: number;
}

/** One reader of what happens, with a place of its own. */
export interface LockBackendWatch {
  /**
   * The next events, at least one and at most so many, oldest first; none when it is closed. What
   * is not read may be lost when there is too much of it, the oldest first. Does not keep the event
   * loop alive.
   * @throws DOMException when there will be no more (rejects).
   */
  read(max: number): Promise<LockEvent[]>;
  /** Ends a read that waits. Idempotent. */
  close(): void;
}

/** What a backend knows of its requests: {@link LockBackend}. */
export interface LockInspection {
  /** The granted ones, oldest first. */
  readonly held: LockDetail[];
  /** The waiting ones, in the order of their queues. */
  readonly pending: LockDetail[];
}

/**
 * How a blocking wait ended: decided; by the time; or at once, because the request waits for
 * something that this thread would have to give back first. After the last two it is still queued.
 */
export type SyncOutcome = 'granted' | 'missed' | 'timeout' | 'deadlock';

/** `QUEUED`, `GRANTED` or `MISSED`. */
export type LockOutcome = 0 | 1 | 2;

/**
 * Who holds what. The backend is the only lock queue there is: the lock manager converts, checks,
 * calls back and settles promises. A queued request keeps the event loop alive; a held lock and an
 * idle backend do not.
 */
export interface LockBackend {
  /** UUID of this agent. */
  readonly clientId: string;
  /**
   * Equal (`===`) for the backends of a thread that share their locks, and for no others. Without it
   * a backend knows nothing of others.
   */
  readonly table?: unknown;
  /**
   * Takes a request.
   * @throws DOMException when it cannot be taken (`QuotaExceededError`, `InvalidStateError`,
   *   `SecurityError`); nothing
   * is left behind then.
   */
  enqueue(request: LockBackendRequest): LockOutcome;
  /**
   * Gives up a granted lock; no effect after `lost()`.
   * @returns Why the lock had been taken away, where that was so and `lost()` was still to come; it
   *   does not come then. A promise of it (never rejected) where that cannot be known at once, or the
   *   release is not in effect when this returns.
   */
  release(
    request: LockBackendRequest,
  ): LockLossReason | undefined | Promise<LockLossReason | undefined>;
  /**
   * The same for `requestSync()`, from backends whose `release()` may give a promise: blocks the
   * thread until the release is in effect.
   */
  releaseSync?(request: LockBackendRequest): LockLossReason | undefined;
  /**
   * Takes back a queued request, with `isTimeout` because it has waited long enough: none of its methods is called afterwards, also when the grant was
   * on its way (the backend then releases it).
   */
  cancel(request: LockBackendRequest, isTimeout?: boolean): void;
  /**
   * From backends that answer late: whether it is not known yet if the request has to wait. A free lock
   * is granted whatever the timeout, so a timeout waits for the answer, a second at most.
   */
  isUndecided?(request: LockBackendRequest): boolean;
  /**
   * Blocks the thread until a queued request is decided, at most `timeout` ms (may be Infinity).
   * None of the request's methods is called meanwhile; those of others may be, from inside. A
   * worker that waits here can be terminated. A lock that was lost again before this returns is
   * `'granted'`, and `release()` says why it was lost.
   * @throws DOMException instead of `failed()`; the request is gone then.
   */
  waitSync?(request: LockBackendRequest, timeout: number): SyncOutcome;
  /** One consistent view of the whole bucket, held and pending in request order per name. */
  snapshot(): LockManagerSnapshot | Promise<LockManagerSnapshot>;
  /** Like snapshot(), with everything there is to know; same order. */
  inspect(): LockInspection | Promise<LockInspection>;
  /**
   * Whether at least so many (default 1) hold the name now, in whatever mode, or one exclusively.
   * Synchronous.
   */
  isLocked(name: string, min?: number): boolean;
  /**
   * Who holds the lock, at most so many, where that is known at once; error messages name them. Does
   * not throw: what cannot be read is nobody.
   */
  holdersOf?(name: string, max?: number): LockDetail[];
  /**
   * What can be reached from some queued requests of this agent, by their `backendId`: whoever holds
   * what they ask for, what is waited for or held inside that, and so on. Not one moment, but what
   * stands from the call until the promise is fulfilled is all there. The look for deadlocks uses
   * this where it is there, else inspect().
   */
  waitsOf?(requestIds: readonly number[], options: WaitWalkOptions): Promise<LockInspection>;
  /**
   * What happens from now on to the lock of this name, or to all; `close()` of the backend closes
   * it.
   * @throws DOMException as of `enqueue()`.
   */
  watch(name: string | undefined): LockBackendWatch;
  /**
   * Drops everything this agent holds or waits for, and says so before it returns: queued requests
   * get `failed(AbortError)`, held ones `lost('disconnected')`. Idempotent. Afterwards `enqueue()` and `snapshot()` throw an
   * `InvalidStateError`.
   */
  close(): void;
  /** The name of the bucket; absent where there are none. */
  readonly bucket?: string;
  /** Where its files are on this machine; absent where it has none. */
  readonly folder?: string;
  /** How full the lock table is; absent where it has no limit. */
  usage?(): LockTableUsage;
  /**
   * New descriptors that keep this process's locks held for as long as they are open in any process:
   * for a command that is to keep them when this process is killed. The caller closes them.
   */
  lifeDescriptors?(): number[];
}

/** How much {@link LockBackend.waitsOf} reads. */
export interface WaitWalkOptions {
  /** Also what waits for the same names and is reached by no other way. */
  readonly withQueues: boolean;
  /** Also what may be inside a held lock, where its thread does not follow its callbacks. */
  readonly withPossible: boolean;
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
