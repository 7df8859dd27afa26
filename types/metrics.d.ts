import type { LockTableUsage } from './backend.js';
import type { SessionStatus } from './backend.js';
import type { EtcdSessionStatus } from './etcd.js';
import type { LockManager } from './locks.js';

/** Options of {@link LockMetrics}. A value of a wrong type or range is a TypeError. */
export interface LockMetricsOptions {
  /**
   * The lock manager of the bucket to measure.
   * @defaultValue `locks`: the bucket `default`
   */
  manager?: LockManager | undefined;
  /**
   * `'bucket'`: all threads of all processes that use the bucket, through `LockManager.watch()`.
   * With `'process'`: the requests of this thread, in all its buckets, with times exact to a
   * microsecond, through the diagnostics channels.
   * @defaultValue 'bucket'
   */
  scope?: 'bucket' | 'process' | undefined;
  /**
   * Whether there are figures per name. Names become labels, so use it only with few names.
   * @defaultValue false
   */
  names?: boolean | undefined;
  /**
   * Upper bounds of the histograms, in seconds, rising.
   * @defaultValue [0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 600]
   */
  bounds?: readonly number[] | undefined;
}

/** A histogram of times. */
export interface LockHistogram {
  /** Upper bounds in seconds. */
  readonly bounds: number[];
  /**
   * How many were at most each bound and above the previous one; the last entry: above all bounds.
   */
  readonly counts: number[];
  /** Sum in seconds. */
  readonly sum: number;
  /** Number of measurements. */
  readonly count: number;
}

/** The figures of a set of requests. Undefined figures are not known in this scope. */
export interface LockFigures {
  /** Locks held now; NaN, as all that is of now, while there is no session with the server. */
  readonly held: number;
  /** Requests waiting now. */
  readonly waiting: number;
  /**
   * Those with the priority `'user-blocking'`. In the scope `'process'` a request counts with the
   * priority that it had at its start.
   */
  readonly waitingUrgent: number;
  /** Those with the priority `'background'`. */
  readonly waitingBackground: number;
  /** Age of the oldest held lock in seconds; 0: none is held. */
  readonly oldestHoldSeconds: number;
  /** Age of the oldest waiting request in seconds; 0: none waits. */
  readonly oldestWaitSeconds: number;
  /** Locks whose holder is stopped, traced, frozen or a zombie. */
  readonly stoppedHolders?: number | undefined;
  /** Requests in a cycle; `undefined` where cycles are not detected. */
  readonly deadlockedRequests?: number | undefined;
  /** Grants since these metrics were created, like all counts below. */
  readonly grants: number;
  /**
   * How often requests were overtaken before their grants; an estimate where there were too many
   * events to record all. `undefined` in the scope `'process'`.
   */
  readonly overtakes?: number | undefined;
  /** Locks that were released; an estimate where there were too many events to record all. */
  readonly releases: number;
  /** Requests refused because of `ifAvailable`. */
  readonly misses?: number | undefined;
  /** Requests that waited for longer than their `timeout`. */
  readonly timeouts: number;
  /** Requests ended by their `signal`. */
  readonly aborts: number;
  /** Locks that were stolen. */
  readonly steals: number;
  /** Locks whose `holdLimit` passed. */
  readonly expiries: number;
  /** Requests that held or waited when their thread or process ended. */
  readonly deaths?: number | undefined;
  /** Times from the request to the grant; of a sample where there were too many events. */
  readonly waitSeconds: LockHistogram;
  /** Times from the grant to the release; of a sample where there were too many events. */
  readonly holdSeconds: LockHistogram;
}

/** The figures of {@link LockMetrics} at one moment. */
export interface LockMetricsData extends LockFigures {
  /** The measured set: all locks of the bucket, or the requests of this process. */
  readonly scope: 'bucket' | 'process';
  /** Name of the bucket. */
  readonly bucket: string;
  /** Events that were not counted, because too many came at once. */
  readonly missedEvents?: number | undefined;
  /** How full the lock table is; `undefined` without one. */
  readonly table?: LockTableUsage | undefined;
  /** The session of this process with its server; `undefined` without one. */
  readonly session?: (SessionStatus & Partial<EtcdSessionStatus>) | undefined;
  /** Figures by name, with the option `names`. */
  readonly names?: Record<string, LockFigures> | undefined;
}

/**
 * Counts lock events from its creation until it is closed. Costs nothing before and after.
 * @example
 * ```ts
 * const metrics = new LockMetrics();
 * createServer(async (_, response) => {
 *   response.setHeader('content-type', 'text/plain; version=0.0.4');
 *   response.end(await metrics.toPrometheus());
 * }).listen(9464);
 * ```
 */
export declare class LockMetrics {
  /**
   * Starts measuring.
   * @throws TypeError for a `scope` or `bounds` that is none.
   */
  constructor(options?: LockMetricsOptions);
  /** The figures now, as plain data. Rejects when the bucket can no longer be watched. */
  collect(): Promise<LockMetricsData>;
  /** A page in the text format of Prometheus, 0.0.4. Rejects like {@link LockMetrics.collect}. */
  toPrometheus(): Promise<string>;
  /**
   * Adds the figures to a registry of prom-client; each scrape reads them once. A scrape never fails
   * because of them: figures that take longer than a second, or cannot be read, are left out.
   * @param client - The module `prom-client`.
   * @param registry - Default: the default registry of prom-client.
   */
  registerPrometheus(client: object, registry?: object): void;
  /**
   * Adds the figures to a meter of the OpenTelemetry API. A collection never fails because of them,
   * as with {@link LockMetrics.registerPrometheus}.
   * @param meter - `metrics.getMeter('holdfast')`.
   */
  registerOpenTelemetry(meter: object): void;
  /**
   * Stops measuring; the figures leave the registry and the meter. No effect the second time.
   */
  close(): void;
  /** The same as `close()`. */
  [Symbol.dispose](): void;
}

/** `new LockMetrics().collect()` of the bucket `default`; counts from the first call on. */
export declare function collect(): Promise<LockMetricsData>;
/** `new LockMetrics().toPrometheus()` of the bucket `default`; counts from the first call on. */
export declare function toPrometheus(): Promise<string>;
