'use strict';

const { DEFAULT_BOUNDS } = require('./histogram.js');
const { figuresForHost } = require('./host-figures.js');
const { METRICS } = require('./metric-list.js');
const { samplesOf, toPrometheusText } = require('./prometheus-text.js');
const { keepName } = require('../copies.js');
const { toLockManager, locks } = require('../locks/lock-manager.js');
const { BucketSource } = require('./bucket-source.js');
const { ProcessSource } = require('./process-source.js');

/** @typedef {import('../../types/metrics.d.ts').LockMetricsData} Data */
/** @typedef {import('./metric-list.js').Metric} Metric */
/** @typedef {(seconds: number, kind: 'wait' | 'hold', name: string) => void} TimeListener */

/** OpenTelemetry's names have dots, and no unit or kind at the end. */
const toInstrumentName = (/** @type {string} */ name) =>
  name.replace(/_(total|seconds|ratio)$/, '').replace(/^holdfast_/, 'holdfast.');

/**
 * @param {any} meter
 * @param {Metric} metric
 */
function createInstrument(meter, { name, help, type, unit }) {
  const options = { description: help, unit: unit ?? '1' };
  const instrumentName = toInstrumentName(name);
  return type === 'counter'
    ? meter.createObservableCounter(instrumentName, options)
    : meter.createObservableGauge(instrumentName, options);
}

/**
 * @param {any} meter
 * @param {{ onTime(listener: TimeListener): void }} source
 */
function recordTimes(meter, source) {
  const create = (/** @type {string} */ name, /** @type {string} */ description) =>
    meter.createHistogram(name, {
      description,
      unit: 's',
      advice: { explicitBucketBoundaries: [...DEFAULT_BOUNDS] },
    });
  const waits = create('holdfast.wait', 'How long granted requests had waited');
  const holds = create('holdfast.hold', 'How long locks were held');
  source.onTime((seconds, kind) => (kind === 'wait' ? waits : holds).record(seconds));
}

/**
 * @param {{ collect(): Promise<Data> }} metrics
 * @param {any} meter
 * @param {Parameters<typeof recordTimes>[1]} source
 * @returns {() => void} the meter asks for no figures any more
 */
function registerOpenTelemetry(metrics, meter, source) {
  const numbers = METRICS.filter(({ type }) => type !== 'histogram');
  const instruments = numbers.map((metric) => ({
    metric,
    instrument: createInstrument(meter, metric),
  }));
  const read = figuresForHost(() => metrics.collect());
  const observe = async (/** @type {any} */ result) => {
    const data = await read();
    if (data === undefined) return;
    for (const { metric, instrument } of instruments) {
      for (const { labels, value } of samplesOf(metric, data)) {
        if (value !== undefined) result.observe(instrument, value, labels);
      }
    }
  };
  const observables = instruments.map(({ instrument }) => instrument);
  meter.addBatchObservableCallback(observe, observables);
  recordTimes(meter, source);
  return () => meter.removeBatchObservableCallback(observe, observables);
}

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

/** @typedef {import('../../types/metrics.d.ts').LockMetricsOptions} Options */

/** @param {unknown} bounds */
function checkBounds(bounds) {
  if (bounds === undefined) return;
  const isRising = (/** @type {number[]} */ list) =>
    list.every((bound, at) => Number.isFinite(bound) && (at === 0 || bound > list[at - 1]));
  if (Array.isArray(bounds) && bounds.length > 0 && isRising(bounds)) return;
  throw new TypeError("The member 'bounds' is not an array of rising numbers of seconds");
}

/** @param {Options} options */
function openSource({
  manager = /** @type {any} */ (locks),
  scope = 'bucket',
  names = false,
  bounds,
}) {
  checkBounds(bounds);
  toLockManager(manager);
  if (scope === 'bucket') return new BucketSource(manager, { names, bounds });
  if (scope === 'process') return new ProcessSource({ names, bounds });
  throw new TypeError(`The member 'scope' is neither 'bucket' nor 'process': ${String(scope)}`);
}

/** Figures of a bucket, or of what this thread asks for. Counts from when it is made. */
class LockMetrics {
  #source;
  /** @type {(() => void)[]} */
  #unregister = [];

  /** @param {Options} [options] */
  constructor(options = {}) {
    this.#source = openSource(options);
  }

  /** @returns {Promise<import('../../types/metrics.d.ts').LockMetricsData>} */
  collect() {
    return this.#source.collect();
  }

  async toPrometheus() {
    return toPrometheusText(await this.collect());
  }

  /**
   * @param {any} client  the module prom-client
   * @param {any} [registry]  prom-client's default one when left out
   */
  registerPrometheus(client, registry = client.register) {
    this.#unregister.push(registerPrometheus(this, client, registry));
  }

  /** @param {any} meter  of the OpenTelemetry API */
  registerOpenTelemetry(meter) {
    this.#unregister.push(registerOpenTelemetry(this, meter, this.#source));
  }

  /** Counts nothing any more, and costs nothing: its metrics leave the registry and the meter. */
  close() {
    for (const unregister of this.#unregister.splice(0)) unregister();
    this.#source.close();
  }

  [Symbol.dispose]() {
    this.close();
  }
}
keepName(LockMetrics, 'LockMetrics');

/** @type {LockMetrics | undefined} of the bucket `default`, for collect() and toPrometheus() */
let shared;
const sharedMetrics = () => (shared ??= new LockMetrics());

module.exports = {
  LockMetrics,
  collect: () => sharedMetrics().collect(),
  toPrometheus: () => sharedMetrics().toPrometheus(),
};
