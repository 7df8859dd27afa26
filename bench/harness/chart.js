'use strict';

// The chart of a scenario as SVG: bars for one figure of all contenders, or lines over sizes.

const { formatNumber } = require('./wording.js');

/** @typedef {import('./wording.js').Result} Result */

const WIDTH = 760;
const BAR_HEIGHT = 30;
const LINES_HEIGHT = 360;
const OWN_COLOR = '#1f6feb';
const OTHER_COLOR = '#9aa4b2';
/** Readable on a light and on a dark page. */
const TEXT = { color: '#6e7781', fontSize: 12 };
const LOG_AXIS = { type: 'log', axisLabel: TEXT, splitLine: { lineStyle: { opacity: 0.3 } } };

const isOurs = (contender) => contender.startsWith('holdfast');

/** @param {Result} result */
function barOption({ results, chart }) {
  const bars = Object.entries(results)
    .map(([contender, { figures }]) => ({ contender, summary: figures?.[chart.figure] }))
    .filter(({ summary }) => summary !== undefined && summary.median > 0);
  const least = Math.min(...bars.map(({ summary }) => summary.median));
  return {
    // The width of text is only estimated without a browser: room for more.
    grid: { left: 40, right: 90, top: 50, bottom: 10, containLabel: true },
    xAxis: { ...LOG_AXIS, min: 10 ** Math.floor(Math.log10(least) - 0.1) },
    yAxis: {
      type: 'category',
      inverse: true,
      axisLabel: TEXT,
      data: bars.map(({ contender }) => contender),
    },
    series: [
      {
        type: 'bar',
        label: { show: true, position: 'right', ...TEXT },
        data: bars.map(({ contender, summary }) => ({
          value: summary.median,
          itemStyle: { color: isOurs(contender) ? OWN_COLOR : OTHER_COLOR },
          label: { formatter: formatNumber(summary.median) },
        })),
      },
    ],
  };
}

/** @param {Result} result */
function lineOption({ results, chart }) {
  const { sizes, unit } = chart;
  const series = Object.entries(results)
    .filter(([, { figures }]) => figures !== undefined)
    .map(([contender, { figures }]) => ({
      name: contender,
      type: 'line',
      data: sizes
        .filter((size) => figures[`${size} ${unit}`] !== undefined)
        .map((size) => [size, figures[`${size} ${unit}`].median]),
      ...(isOurs(contender) && { lineStyle: { width: 3 } }),
    }));
  return {
    grid: { left: 30, right: 300, top: 50, bottom: 10, containLabel: true },
    legend: { orient: 'vertical', left: WIDTH - 285, top: 50, textStyle: TEXT },
    xAxis: LOG_AXIS,
    yAxis: LOG_AXIS,
    series,
  };
}

/**
 * @param {Result} result of a scenario that has a chart
 * @returns {string} SVG
 */
function toSvg(result) {
  const echarts = require('echarts');
  const isBars = result.chart.figure !== undefined;
  const count = Object.values(result.results).filter(({ figures }) => figures).length;
  const height = isBars ? 80 + BAR_HEIGHT * count : LINES_HEIGHT;
  const options = { renderer: 'svg', ssr: true, width: WIDTH, height };
  const chart = echarts.init(null, null, options);
  chart.setOption({
    animation: false,
    title: {
      text: `${result.chart.title} (logarithmic)`,
      left: 10,
      textStyle: { ...TEXT, fontSize: 15 },
    },
    ...(isBars ? barOption(result) : lineOption(result)),
  });
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
}

module.exports = { toSvg };
