import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { bound, clock, compact, count } from './format.mjs';
import { html } from './html.mjs';

const HEIGHT = 170;
const MS_PER_SECOND = 1_000;

/** @param {string} name  of a colour in the style sheet */
const color = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const axis = () => ({
  stroke: color('--soft'),
  grid: { stroke: color('--line'), width: 1 },
  ticks: { stroke: color('--line'), width: 1 },
});

const countAxis = () => ({
  ...axis(),
  size: 60,
  values: (/** @type {any} */ _, /** @type {number[]} */ values) => values.map(compact),
});

/**
 * A chart of uPlot that follows its data and the width of its place.
 * @param {{ data: any, options: () => any, theme: string }} properties
 */
function Plot({ data, options, theme }) {
  const place = useRef(/** @type {HTMLDivElement | null} */ (null));
  const plot = useRef(/** @type {uPlot | null} */ (null));
  useEffect(() => {
    const element = /** @type {HTMLDivElement} */ (place.current);
    const width = () => Math.max(200, element.clientWidth);
    const made = new uPlot({ width: width(), height: HEIGHT, ...options() }, data, element);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: width(), height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [theme]);
  useEffect(() => plot.current?.setData(data), [data]);
  return html`<div class="plot" ref=${place} aria-hidden="true"></div>`;
}

const rateOptions = () => ({
  cursor: { show: false },
  legend: { show: false },
  scales: { grants: { range: upFromZero }, locks: { range: upFromZero } },
  axes: [
    {
      ...axis(),
      values: (/** @type {any} */ _, /** @type {number[]} */ times) =>
        times.map((time) => clock(time * MS_PER_SECOND)),
    },
    { ...countAxis(), scale: 'grants' },
    { ...countAxis(), scale: 'locks', side: 1, grid: { show: false } },
  ],
  series: [
    {},
    { label: 'Grants a second', scale: 'grants', stroke: color('--accent'), width: 2 },
    { label: 'Waiting', scale: 'locks', stroke: color('--wait'), width: 2 },
    { label: 'Held', scale: 'locks', stroke: color('--held'), width: 2 },
  ],
});

/** @param {uPlot} _ @param {number} __ @param {number} most @returns {[number, number]} */
const upFromZero = (_, __, most) => [0, Math.max(1, most * 1.1)];

/** @param {{ moments: import('./types.d.ts').Moment[], theme: string }} properties */
export function RateChart({ moments, theme }) {
  const data = [
    moments.map(({ time }) => time / MS_PER_SECOND),
    moments.map(({ grants }) => grants),
    moments.map(({ waiting }) => waiting),
    moments.map(({ held }) => held),
  ];
  const last = moments.at(-1);
  return html`<section aria-labelledby="rates-title">
    <h2 id="rates-title">The last minute</h2>
    <p class="legend">
      <span class="key accent">grants a second ${count(last?.grants ?? 0)}</span>
      <span class="key wait">waiting ${count(last?.waiting ?? 0)}</span>
      <span class="key held">held ${count(last?.held ?? 0)}</span>
    </p>
    <${Plot} data=${data} options=${rateOptions} theme=${theme} />
  </section>`;
}

/** @param {number[]} bounds */
const labelsOf = (bounds) => [...bounds.map(bound), 'more'];

/** @param {string[]} labels */
const histogramOptions = (labels) => () => ({
  cursor: { show: false },
  legend: { show: false },
  scales: { x: { time: false, range: [-0.6, labels.length - 0.4] }, y: { range: upFromZero } },
  axes: [
    {
      ...axis(),
      grid: { show: false },
      rotate: -90,
      size: 64,
      splits: () => labels.map((_, at) => at),
      values: () => labels,
    },
    countAxis(),
  ],
  series: [
    {},
    {
      stroke: color('--accent'),
      fill: color('--accent'),
      paths: uPlot.paths.bars?.({ size: [0.8, 60] }),
      points: { show: false },
    },
  ],
});

/** @param {{ id: string, title: string, data: import('./types.d.ts').Histogram, theme: string }} properties */
export function HistogramChart({ id, title, data, theme }) {
  const labels = labelsOf(data.bounds);
  const values = [labels.map((_, at) => at), data.counts];
  const average = data.count === 0 ? 0 : data.sum / data.count;
  return html`<section aria-labelledby="${id}-title">
    <h2 id="${id}-title">${title}</h2>
    <p class="legend">
      ${count(data.count)} times, ${(average * MS_PER_SECOND).toFixed(2)} ms on average
    </p>
    <${Plot} data=${values} options=${histogramOptions(labels)} theme=${theme} />
    <details>
      <summary>As a table</summary>
      <table>
        <thead>
          <tr>
            <th scope="col">Up to</th>
            <th scope="col">Times</th>
          </tr>
        </thead>
        <tbody>
          ${labels.map(
            (label, at) =>
              html`<tr>
                <td>${label}</td>
                <td>${count(data.counts[at])}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </details>
  </section>`;
}
