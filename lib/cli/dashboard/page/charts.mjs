import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { bound, clock, compact, count, html, shown } from './format.mjs';

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
 * A chart of uPlot that follows its data and the width of its element.
 * @param {{ data: any, options: () => any, theme: string }} properties
 */
function Plot({ data, options, theme }) {
  const container = useRef(/** @type {HTMLDivElement | null} */ (null));
  const plot = useRef(/** @type {uPlot | null} */ (null));
  useEffect(() => {
    const element = /** @type {HTMLDivElement} */ (container.current);
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
  return html`<div class="plot" ref=${container} aria-hidden="true"></div>`;
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

/** @typedef {import('./types.d.ts').Moment} Moment */

const MINUTE_MS = 60_000;
const ROWS = 20;
const ROW_HEIGHT = 18;
const WIDTH = 900;
const NAME_WIDTH = 180;
/** Characters; a longer name does not fit in any font. */
const MAX_NAME = 60;
const STEPS = [0, 1, 3, 10, 100];

/** @param {{ held: number, waiting: number, rate: number, isDeadlocked: boolean }} state */
function shade({ held, waiting, rate, isDeadlocked }) {
  if (isDeadlocked) return 'stuck';
  if (waiting > 0) return `wait-${STEPS.filter((step) => waiting >= step).length - 1}`;
  if (held > 0) return 'held';
  return rate > 0 ? 'used' : '';
}

/** @param {number} time @param {number} now */
const at = (time, now) => NAME_WIDTH + (1 - (now - time) / MINUTE_MS) * (WIDTH - NAME_WIDTH);

/**
 * One rectangle for each stretch of the same state.
 * @param {Moment[]} moments
 * @param {string} name
 * @param {number} now
 */
function stretches(moments, name, now) {
  /** @type {{ from: number, to: number, kind: string }[]} */
  const found = [];
  for (const [index, { time, locks }] of moments.entries()) {
    const state = locks.get(name);
    const kind = state === undefined ? '' : shade(state);
    const begin = index === 0 ? time : moments[index - 1].time;
    const last = found.at(-1);
    if (last?.kind === kind) last.to = time;
    else found.push({ from: begin, to: time, kind });
  }
  return found
    .filter(({ kind }) => kind !== '')
    .map(({ from, to, kind }) => ({
      x: at(from, now),
      width: Math.max(1, at(to, now) - at(from, now)),
      kind,
    }));
}

/** @param {{ moments: Moment[], picture: import('./types.d.ts').Picture }} properties */
export function Timeline({ moments, picture }) {
  const { locks, time: now, totals } = picture;
  const rows = locks.slice(0, ROWS);
  const deaths = moments.filter((moment) => moment.deaths > 0);
  const height = (rows.length + 1) * ROW_HEIGHT + 8;
  const most = moments.reduce((highest, { waiting }) => Math.max(highest, waiting), 0);
  return html`<section aria-labelledby="timeline-title">
    <h2 id="timeline-title">Timeline of the last minute</h2>
    <p class="legend">
      <span class="key held">held</span> <span class="key wait">waited for</span>
      <span class="key stuck">deadlock</span> <span class="key death">deaths</span>
      ${rows.length < totals.names && `${rows.length} of ${count(totals.names)} locks: those with the longest queues`}
    </p>
    <div class="scroll" tabindex="0" role="group" aria-label="Drawing of the last minute">
      <svg
        class="timeline"
        viewBox="0 0 ${WIDTH} ${height}"
        role="img"
        aria-label=${`The last minute of ${rows.length} locks: at most ${count(most)} requests waited, in ${deaths.length} intervals a holder or waiter died.`}
      >
        ${rows.map(
          (lock, row) =>
            html`<g key=${lock.name} transform="translate(0 ${row * ROW_HEIGHT})">
              <svg class="label" width=${NAME_WIDTH - 8} height=${ROW_HEIGHT}>
                <title>${shown(lock.name)}</title>
                <text x="0" y="13">${shown(lock.name).slice(0, MAX_NAME)}</text>
              </svg>
              ${stretches(moments, lock.name, now).map(
                ({ x, width, kind }) =>
                  html`<rect class=${kind} x=${x} y="3" width=${width} height=${ROW_HEIGHT - 5} />`,
              )}
            </g>`,
        )}
        ${deaths.map(
          ({ time, deaths: rate }) =>
            html`<line
              class="death"
              x1=${at(time, now)}
              x2=${at(time, now)}
              y1="0"
              y2=${height - ROW_HEIGHT}
            >
              <title>${rate.toFixed(1)} deaths a second</title>
            </line>`,
        )}
        ${[60, 45, 30, 15, 0].map(
          (ago) =>
            html`<text
              class="tick"
              x=${at(now - ago * 1_000, now)}
              y=${height - 4}
              text-anchor=${ago === 0 ? 'end' : 'middle'}
              >${ago === 0 ? 'now' : `${ago} s ago`}</text
            >`,
        )}
      </svg>
    </div>
  </section>`;
}
