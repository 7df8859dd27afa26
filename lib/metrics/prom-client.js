'use strict';

const { dateNow } = require('../time.js');
const { METRICS } = require('./metric-list.js');
const { samplesOf } = require('./prometheus-text.js');

/** @typedef {import('../../types/metrics.d.ts').LockMetricsData} Data */
/** @typedef {import('./metric-list.js').Metric} Metric */

/** How long the figures of one collection are used: a scrape asks each metric in turn. */
const FRESH_MS = 100;

/**
 * Reads once for all metrics of a scrape.
 * @param {() => Promise<Data>} collect
 */
function readOnce(collect) {
  /** @type {{ data: Promise<Data>, at: number } | undefined} */
  let last;
  return () => {
    const now = dateNow();
    if (last === undefined || now - last.at > FRESH_MS) last = { data: collect(), at: now };
    return last.data;
  };
}

/**
 * A counter or gauge of prom-client whose values are ours at each scrape.
 * @param {any} client
 * @param {any} registry
 * @param {{ metric: Metric, labelNames: string[], read: () => Promise<Data> }} what
 */
function registerNumber(client, registry, { metric, labelNames, read }) {
  const Kind = metric.type === 'counter' ? client.Counter : client.Gauge;
  new Kind({
    name: metric.name,
    help: metric.help,
    labelNames,
    registers: [registry],
    async collect() {
      this.reset();
      for (const { labels, value } of samplesOf(metric, await read())) {
        if (typeof value !== 'number') continue;
        if (metric.type === 'counter') this.inc(labels, value);
        else this.set(labels, value);
      }
    },
  });
}

/**
 * A histogram of ours as a metric of prom-client, whose own class counts single values only.
 * @param {any} registry
 * @param {Metric} metric
 * @param {() => Promise<Data>} read
 */
function registerHistogram(registry, metric, read) {
  registry.registerMetric({
    name: metric.name,
    help: metric.help,
    type: 'histogram',
    aggregator: 'sum',
    reset() {},
    async get() {
      const samples = samplesOf(metric, await read());
      const values = samples.flatMap(({ labels, value }) =>
        value === undefined || typeof value === 'number'
          ? []
          : toValues(metric.name, value, labels),
      );
      return { name: metric.name, help: metric.help, type: 'histogram', values, aggregator: 'sum' };
    },
  });
}

/**
 * @param {string} name
 * @param {import('./histogram.js').HistogramData} histogram
 * @param {Record<string, string>} labels
 */
function toValues(name, { bounds, counts, sum, count }, labels) {
  let below = 0;
  const buckets = bounds.map((bound, at) => {
    below += counts[at];
    return { metricName: `${name}_bucket`, labels: { le: bound, ...labels }, value: below };
  });
  return [
    ...buckets,
    { metricName: `${name}_bucket`, labels: { le: '+Inf', ...labels }, value: count },
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}

/**
 * @param {{ collect(): Promise<Data> }} metrics
 * @param {any} client  the module prom-client
 * @param {any} registry
 */
function registerPrometheus(metrics, client, registry) {
  const read = readOnce(() => metrics.collect());
  for (const metric of METRICS) {
    if (metric.type === 'histogram') registerHistogram(registry, metric, read);
    else registerNumber(client, registry, { metric, labelNames: ['bucket', 'name'], read });
  }
}

module.exports = { registerPrometheus };
