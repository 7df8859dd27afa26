'use strict';

const { METRICS } = require('./metric-list.js');

/** @typedef {import('../../types/metrics.d.ts').LockMetricsData} Data */
/** @typedef {import('./histogram.js').HistogramData} HistogramData */
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
 * @param {import('./metric-list.js').Metric} metric
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
 * @param {import('./metric-list.js').Metric} metric
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

module.exports = { samplesOf, toPrometheusText };
