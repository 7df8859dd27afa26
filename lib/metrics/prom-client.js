'use strict';

const { figuresForHost } = require('./host-figures.js');
const { METRICS } = require('./metric-list.js');
const { samplesOf } = require('./prometheus-text.js');

/** @typedef {import('../../types/metrics.d.ts').LockMetricsData} Data */
/** @typedef {import('./metric-list.js').Metric} Metric */
/** @typedef {() => Promise<Data | undefined>} Read */

/**
 * A counter or gauge of prom-client whose values are ours at each scrape.
 * @param {any} client
 * @param {any} registry
 * @param {{ metric: Metric, labelNames: string[], read: Read }} what
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
      const data = await read();
      for (const { labels, value } of data === undefined ? [] : samplesOf(metric, data)) {
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
 * @param {Read} read
 */
function registerHistogram(registry, metric, read) {
  registry.registerMetric({
    name: metric.name,
    help: metric.help,
    type: 'histogram',
    aggregator: 'sum',
    reset() {},
    async get() {
      const data = await read();
      const samples = data === undefined ? [] : samplesOf(metric, data);
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
 * @returns {() => void} takes the metrics out of the registry again
 */
function registerPrometheus(metrics, client, registry) {
  const read = figuresForHost(() => metrics.collect());
  for (const metric of METRICS) {
    if (metric.type === 'histogram') registerHistogram(registry, metric, read);
    else registerNumber(client, registry, { metric, labelNames: ['bucket', 'name'], read });
  }
  const registered = METRICS.map(({ name }) => registry.getSingleMetric(name));
  return () => {
    for (const metric of registered) {
      // The host may have cleared its registry, and registered others of these names.
      if (registry.getSingleMetric(metric.name) === metric)
        registry.removeSingleMetric(metric.name);
    }
  };
}

module.exports = { registerPrometheus };
