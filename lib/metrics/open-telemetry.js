'use strict';

const { DEFAULT_BOUNDS } = require('./histogram.js');
const { figuresForHost } = require('./host-figures.js');
const { METRICS } = require('./metric-list.js');
const { samplesOf } = require('./prometheus-text.js');

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

module.exports = { registerOpenTelemetry };
