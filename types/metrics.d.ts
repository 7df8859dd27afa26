import type { LockTableUsage } from './backend.js';
import type { LockManager } from './locks.js';

/** Options of {@link LockMetrics}. */
export interface LockMetricsOptions {
  /**
   * Whose figures.
   * @defaultValue `locks`: the bucket `default`
   */
  manager?: LockManager | undefined;
  /**
   * `'bucket'`: all threads of all processes that use the bucket, seen by {@link LockManager.watch}.
   * `'process'`: what this thread asks for, in all its buckets, with times of a microsecond, seen by
   * the diagnostics channels.
   * @defaultValue 'bucket'
   */
  scope?: 'bucket' | 'process' | undefined;
  /**
   * Whether there are figures for each name. Names then become labels: only where there are few.
   * @defaultValue false
   */
  names?: boolean | undefined;
  /**
   * Upper bounds of the histograms, in seconds, rising.
   * @defaultValue [0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 600]
   */
  bounds?: readonly number[] | undefined;
}

/** How often which times were measured. */
export interface LockHistogram {
  /** Upper bounds in seconds. */
  readonly bounds: number[];
  /** How many were up to each bound and above the one before; one more for those above all. */
  readonly counts: number[];
  /** Seconds in all. */
  readonly sum: number;
  /** Of all measurements. */
  readonly count: number;
}

/** The figures of some requests. What is undefined cannot be known here. */
export interface LockFigures {
  /** Now. */
  readonly held: number;
  /** Requests that wait now. */
  readonly waiting: number;
  /** Age of the oldest lock that is held, in seconds; 0: none is held. */
  readonly oldestHoldSeconds: number;
  /** Age of the oldest request that waits, in seconds; 0: none waits. */
  readonly oldestWaitSeconds: number;
  /** Locks whose holder is stopped, traced, frozen or a zombie. */
  readonly stoppedHolders?: number | undefined;
  /** Requests in a cycle; `undefined` where it is not looked for. */
  readonly deadlockedRequests?: number | undefined;
  /** Since these metrics were made. */
  readonly grants: number;
  /** Locks that were released. */
  readonly releases: number;
  /** Refused by `ifAvailable`. */
  readonly misses?: number | undefined;
  /** Requests that waited for longer than their `timeout`. */
  readonly timeouts: number;
  /** Requests that their `signal` ended. */
  readonly aborts: number;
  /** Locks that were taken away. */
  readonly steals: number;
  /** Locks whose `holdLimit` passed. */
  readonly expiries: number;
  /** Held or waiting when their thread or process ended. */
  readonly deaths?: number | undefined;
  /** From the request to its grant. */
  readonly waitSeconds: LockHistogram;
  /** From the grant to the release. */
  readonly holdSeconds: LockHistogram;
}

/** What {@link LockMetrics} gives at one moment. */
export interface LockMetricsData extends LockFigures {
  /** Whose figures they are. */
  readonly scope: 'bucket' | 'process';
  /** Its name. */
  readonly bucket: string;
  /** Events that were not counted, because there were too many of them at a time. */
  readonly missedEvents?: number | undefined;
  /** How full the lock table is; `undefined` without one. */
  readonly table?: LockTableUsage | undefined;
  /** By name, with the option `names`. */
  readonly names?: Record<string, LockFigures> | undefined;
}

/**
 * Counts what happens to locks, from when it is made until it is closed. Costs nothing before and
 * after.
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
   * Measures from now on.
   * @throws TypeError for a `scope` or `bounds` that is none.
   */
  constructor(options?: LockMetricsOptions);
  /** The figures now, as plain data. Rejects when the bucket can no longer be watched. */
  collect(): Promise<LockMetricsData>;
  /** A page in the text format of Prometheus, 0.0.4. Rejects like {@link LockMetrics.collect}. */
  toPrometheus(): Promise<string>;
  /**
   * Adds the figures to a registry of prom-client; each scrape reads them once.
   * @param client - The module `prom-client`.
   * @param registry - Its default registry when left out.
   */
  registerPrometheus(client: object, registry?: object): void;
  /**
   * Adds the figures to a meter of the OpenTelemetry API.
   * @param meter - `metrics.getMeter('holdfast')`.
   */
  registerOpenTelemetry(meter: object): void;
  /** Stops measuring. No effect the second time. */
  close(): void;
  /** The same as `close()`. */
  [Symbol.dispose](): void;
}

/** `new LockMetrics().collect()` of the bucket `default`; counts from the first call on. */
export declare function collect(): Promise<LockMetricsData>;
/** `new LockMetrics().toPrometheus()` of the bucket `default`; counts from the first call on. */
export declare function toPrometheus(): Promise<string>;
