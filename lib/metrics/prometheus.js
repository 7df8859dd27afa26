'use strict';

/**
 * The metrics by their names in Prometheus, which OpenTelemetry has too, and the text format of
 * Prometheus.
 */

/** @typedef {import('../../types/metrics.d.ts').LockMetricsData} Data */
/** @typedef {import('./lock-statistics.js').HistogramData} HistogramData */
/**
 * @typedef {object} Metric
 * @property {string} name
 * @property {string} help
 * @property {'counter' | 'gauge' | 'histogram'} type
 * @property {string} [unit]
 * @property {(data: Data) => number | HistogramData | undefined} read  undefined: not known here
 */

/** @param {number | undefined} ms */
const seconds = (ms) => ms && ms / 1_000;

/** @type {readonly Metric[]} */
const METRICS = [
  {
    name: 'holdfast_locks_held',
    help: 'Locks that are held now',
    type: 'gauge',
    read: ({ held }) => held,
  },
  {
    name: 'holdfast_requests_waiting',
    help: 'Requests that wait for a lock now',
    type: 'gauge',
    read: ({ waiting }) => waiting,
  },
  {
    name: 'holdfast_requests_waiting_urgent',
    help: "Requests with the priority 'user-blocking' that wait now",
    type: 'gauge',
    read: ({ waitingUrgent }) => waitingUrgent,
  },
  {
    name: 'holdfast_requests_waiting_background',
    help: "Requests with the priority 'background' that wait now",
    type: 'gauge',
    read: ({ waitingBackground }) => waitingBackground,
  },
  {
    name: 'holdfast_oldest_hold_seconds',
    help: 'How long the lock that is held longest has been held',
    type: 'gauge',
    unit: 's',
    read: ({ oldestHoldSeconds }) => oldestHoldSeconds,
  },
  {
    name: 'holdfast_oldest_wait_seconds',
    help: 'How long the request that waits longest has waited',
    type: 'gauge',
    unit: 's',
    read: ({ oldestWaitSeconds }) => oldestWaitSeconds,
  },
  {
    name: 'holdfast_stopped_holders',
    help: 'Locks whose holder is stopped, traced, frozen or a zombie',
    type: 'gauge',
    read: ({ stoppedHolders }) => stoppedHolders,
  },
  {
    name: 'holdfast_deadlocked_requests',
    help: 'Requests that wait in a cycle now',
    type: 'gauge',
    read: ({ deadlockedRequests }) => deadlockedRequests,
  },
  {
    name: 'holdfast_grants_total',
    help: 'Locks granted',
    type: 'counter',
    read: ({ grants }) => grants,
  },
  {
    name: 'holdfast_overtakes_total',
    help: 'How often requests were overtaken before their grants',
    type: 'counter',
    read: ({ overtakes }) => overtakes,
  },
  {
    name: 'holdfast_releases_total',
    help: 'Locks released by their holders',
    type: 'counter',
    read: ({ releases }) => releases,
  },
  {
    name: 'holdfast_misses_total',
    help: 'Requests refused by ifAvailable',
    type: 'counter',
    read: ({ misses }) => misses,
  },
  {
    name: 'holdfast_timeouts_total',
    help: 'Requests that left the queue because of their timeout',
    type: 'counter',
    read: ({ timeouts }) => timeouts,
  },
  {
    name: 'holdfast_aborts_total',
    help: 'Requests that left the queue because of their signal, a deadlock or close()',
    type: 'counter',
    read: ({ aborts }) => aborts,
  },
  {
    name: 'holdfast_steals_total',
    help: 'Locks taken away by a steal',
    type: 'counter',
    read: ({ steals }) => steals,
  },
  {
    name: 'holdfast_expiries_total',
    help: 'Locks taken away at their hold limit',
    type: 'counter',
    read: ({ expiries }) => expiries,
  },
  {
    name: 'holdfast_deaths_total',
    help: 'Locks and requests ended by the death of their thread or process',
    type: 'counter',
    read: ({ deaths }) => deaths,
  },
  {
    name: 'holdfast_missed_events_total',
    help: 'Events that were not counted, because there were too many of them at a time',
    type: 'counter',
    read: ({ missedEvents }) => missedEvents,
  },
  {
    name: 'holdfast_table_fill_ratio',
    help: 'The used share of the lock table',
    type: 'gauge',
    read: ({ table }) => table && table.usedCells / table.maxCells,
  },
  {
    name: 'holdfast_processes',
    help: 'Processes that use the bucket',
    type: 'gauge',
    read: ({ table }) => table?.processes,
  },
  {
    name: 'holdfast_processes_max',
    help: 'Processes that can use the bucket at a time',
    type: 'gauge',
    read: ({ table }) => table?.maxProcesses,
  },
  {
    name: 'holdfast_threads',
    help: 'Threads (agents) that use the bucket',
    type: 'gauge',
    read: ({ table }) => table?.agents,
  },
  {
    name: 'holdfast_threads_max',
    help: 'Threads (agents) that can use the bucket at a time',
    type: 'gauge',
    read: ({ table }) => table?.maxAgents,
  },
  {
    name: 'holdfast_session_connected',
    help: 'Whether this process has a session with the server of its locks: 1 or 0',
    type: 'gauge',
    read: ({ session }) => session && Number(session.connected),
  },
  {
    name: 'holdfast_session_lease_age_seconds',
    help: 'Since the lease of the session was extended',
    type: 'gauge',
    unit: 's',
    read: ({ session }) => seconds(session?.leaseAgeMs),
  },
  {
    name: 'holdfast_session_lease_left_seconds',
    help: 'Until the locks of this process count as lost, unless the session is extended',
    type: 'gauge',
    unit: 's',
    read: ({ session }) => seconds(session?.leaseLeftMs),
  },
  {
    name: 'holdfast_session_losses_total',
    help: 'Sessions that were lost, with their locks',
    type: 'counter',
    read: ({ session }) => session?.lost,
  },
  {
    name: 'holdfast_session_reconnects_total',
    help: 'Connections and watches that were opened again',
    type: 'counter',
    read: ({ session }) =>
      session?.reconnects === undefined
        ? undefined
        : session.reconnects + (session.watch?.reconnects ?? 0),
  },
  {
    name: 'holdfast_session_round_trips_total',
    help: 'Calls of the session that the server has answered',
    type: 'counter',
    read: ({ session }) => session?.roundTrips,
  },
  {
    name: 'holdfast_session_round_trip_seconds_total',
    help: 'How long these calls took, together',
    type: 'counter',
    unit: 's',
    read: ({ session }) => seconds(session?.roundTripMs),
  },
  {
    name: 'holdfast_session_keep_alives_total',
    help: 'Keep-alives that the server has answered',
    type: 'counter',
    read: ({ session }) => session?.keepAlives,
  },
  {
    name: 'holdfast_session_failures_total',
    help: 'Calls of this process that failed',
    type: 'counter',
    read: ({ session }) => session?.failures,
  },
  {
    name: 'holdfast_session_in_doubt_total',
    help: 'Changes whose answer never came, and whose outcome was found out',
    type: 'counter',
    read: ({ session }) => session?.inDoubt,
  },
  {
    name: 'holdfast_session_watch_events_total',
    help: 'Events that the watches of the session have received',
    type: 'counter',
    read: ({ session }) => session?.watch?.events,
  },
  {
    name: 'holdfast_wait_seconds',
    help: 'How long granted requests had waited',
    type: 'histogram',
    unit: 's',
    read: ({ waitSeconds }) => waitSeconds,
  },
  {
    name: 'holdfast_hold_seconds',
    help: 'How long locks were held',
    type: 'histogram',
    unit: 's',
    read: ({ holdSeconds }) => holdSeconds,
  },
];

/** @typedef {Record<string, string>} Labels */

/**
 * Text inside the quotes of a label. Prometheus reads UTF-8, which has no lone surrogates.
 * @param {string} value
 */
const escape = (value) =>
  value
    .replace(/\p{Surrogate}/gu, '\ufffd')
    .replace(/[\\"]/g, '\\$&')
    .replace(/\n/g, '\\n');

/** @param {Labels} labels */
function labelText(labels) {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escape(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

/**
 * @param {string} name
 * @param {HistogramData} histogram
 * @param {Labels} labels
 */
function histogramLines(name, { bounds, counts, sum, count }, labels) {
  let below = 0;
  const buckets = bounds.map((bound, at) => {
    below += counts[at];
    return `${name}_bucket${labelText({ ...labels, le: String(bound) })} ${below}`;
  });
  return [
    ...buckets,
    `${name}_bucket${labelText({ ...labels, le: '+Inf' })} ${count}`,
    `${name}_sum${labelText(labels)} ${sum}`,
    `${name}_count${labelText(labels)} ${count}`,
  ];
}

/**
 * The values of a metric: by name where that was asked for and is known, because a sum beside its
 * parts would be counted twice.
 * @param {Metric} metric
 * @param {Data} data
 * @returns {{ labels: Labels, value: number | HistogramData | undefined }[]}
 */
function samplesOf(metric, data) {
  const { bucket } = data;
  const whole = [{ labels: { bucket }, value: metric.read(data) }];
  if (data.names === undefined) return whole;
  const parts = Object.entries(data.names).map(([name, part]) => ({
    labels: { bucket, name },
    value: metric.read(/** @type {Data} */ (part)),
  }));
  return parts.some(({ value }) => value !== undefined) ? parts : whole;
}

/**
 * @param {Metric} metric
 * @param {Data} data
 */
function metricLines(metric, data) {
  const known = samplesOf(metric, data).filter(({ value }) => value !== undefined);
  if (known.length === 0) return [];
  return [
    `# HELP ${metric.name} ${metric.help}`,
    `# TYPE ${metric.name} ${metric.type}`,
    ...known.flatMap(({ labels, value }) =>
      typeof value === 'number'
        ? [`${metric.name}${labelText(labels)} ${value}`]
        : histogramLines(metric.name, /** @type {HistogramData} */ (value), labels),
    ),
  ];
}

/**
 * A page in the text format of Prometheus, version 0.0.4.
 * @param {Data} data
 * @returns {string}
 */
const toPrometheusText = (data) =>
  METRICS.flatMap((metric) => metricLines(metric, data))
    .concat('')
    .join('\n');

module.exports = { METRICS, samplesOf, toPrometheusText };
