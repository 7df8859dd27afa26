// The page of the dashboard: follows the live feed and draws it.

import uPlot from 'uplot';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import {
  bound,
  clock,
  compact,
  count,
  duration,
  escaped,
  html,
  rate,
  shown,
  who,
} from './format.mjs';
import { Graph } from './graph.mjs';
import './page.css';

/** @typedef {import('./types.d.ts').Feed} Feed */
/** @typedef {import('./types.d.ts').Histogram} Histogram */
/** @typedef {import('./types.d.ts').Incident} Incident */
/** @typedef {import('./types.d.ts').LockView} LockView */
/** @typedef {import('./types.d.ts').Moment} Moment */
/** @typedef {import('./types.d.ts').Picture} Picture */
/** @typedef {import('./types.d.ts').Request} Request */

// The feed of the server: one picture after the other, kept for a minute.

const MINUTE_MS = 60_000;
const MAX_INCIDENTS = 200;

/**
 * Selects the parts of a picture that the charts and the timeline need.
 * @param {Picture} picture
 * @returns {Moment}
 */
function toMoment(picture) {
  return {
    time: picture.time,
    grants: picture.rates.grants,
    waiting: picture.totals.pending,
    held: picture.totals.held,
    deaths: picture.rates.deaths,
    deadlocks: picture.deadlocks.length,
    locks: new Map(
      picture.locks.map((lock) => [
        lock.name,
        {
          held: lock.held,
          waiting: lock.waiting,
          rate: lock.rate,
          isDeadlocked: lock.isDeadlocked,
        },
      ]),
    ),
  };
}

/**
 * @param {Feed} feed
 * @param {Picture} picture
 * @returns {Feed}
 */
function withPicture(feed, picture) {
  const moments = [...feed.moments, toMoment(picture)].filter(
    ({ time }) => time > picture.time - MINUTE_MS,
  );
  const incidents = [...picture.incidents.toReversed(), ...feed.incidents].slice(0, MAX_INCIDENTS);
  return { state: 'live', picture, moments, incidents, message: '' };
}

/** @type {Feed} */
const NO_FEED = {
  state: 'connecting',
  picture: undefined,
  moments: [],
  incidents: [],
  message: '',
};

/**
 * @param {boolean} isPaused
 * @returns {Feed}
 */
function useFeed(isPaused) {
  const [feed, setFeed] = useState(NO_FEED);
  useEffect(() => {
    if (isPaused) return undefined;
    const source = new EventSource('events');
    source.addEventListener('picture', ({ data }) => {
      const picture = JSON.parse(data);
      setFeed((before) => withPicture(before, picture));
    });
    source.addEventListener('failure', ({ data }) => {
      setFeed((before) => ({ ...before, state: 'failed', message: JSON.parse(data).message }));
    });
    source.addEventListener('error', () => {
      setFeed((before) => ({ ...before, state: before.state === 'failed' ? 'failed' : 'lost' }));
    });
    return () => source.close();
  }, [isPaused]);
  return feed;
}

/**
 * The newest answer of the server to a question that is asked again with each picture.
 * @param {string} url  empty: no question
 * @param {number | undefined} number  of the picture
 * @returns {any} undefined before the first answer
 */
function useAnswer(url, number) {
  const [found, setFound] = useState({ url: '', answer: undefined });
  const fetching = useRef('');
  const wanted = useRef(url);
  wanted.current = url;
  useEffect(() => {
    if (url === '' || fetching.current === url) return; // a busy server is not asked twice at a time
    fetching.current = url;
    fetch(url)
      .then((response) => response.json())
      .then((answer) => {
        if (wanted.current === url) setFound({ url, answer });
      })
      .catch(() => {}) // the next picture asks again; the head of the page shows failures
      .finally(() => {
        if (fetching.current === url) fetching.current = '';
      });
  }, [url, number]);
  return found.url === url ? found.answer : undefined;
}

// The charts, drawn by uPlot, and the timeline.

const CHART_HEIGHT = 170;
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
    const made = new uPlot({ width: width(), height: CHART_HEIGHT, ...options() }, data, element);
    plot.current = made;
    const observer = new ResizeObserver(() =>
      made.setSize({ width: width(), height: CHART_HEIGHT }),
    );
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

/** @param {{ moments: Moment[], theme: string }} properties */
function RateChart({ moments, theme }) {
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

/** @param {{ id: string, title: string, data: Histogram, theme: string }} properties */
function HistogramChart({ id, title, data, theme }) {
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

const TIMELINE_ROWS = 20;
const TIMELINE_ROW_HEIGHT = 18;
const TIMELINE_WIDTH = 900;
const TIMELINE_NAME_WIDTH = 180;
/** Characters; a longer name does not fit in any font. */
const MAX_TIMELINE_NAME = 60;
const QUEUE_STEPS = [0, 1, 3, 10, 100];

/** @param {{ held: number, waiting: number, rate: number, isDeadlocked: boolean }} state */
function shade({ held, waiting, rate: grants, isDeadlocked }) {
  if (isDeadlocked) return 'stuck';
  if (waiting > 0) return `wait-${QUEUE_STEPS.filter((step) => waiting >= step).length - 1}`;
  if (held > 0) return 'held';
  return grants > 0 ? 'used' : '';
}

/** @param {number} time @param {number} now */
const timeX = (time, now) =>
  TIMELINE_NAME_WIDTH + (1 - (now - time) / MINUTE_MS) * (TIMELINE_WIDTH - TIMELINE_NAME_WIDTH);

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
      x: timeX(from, now),
      width: Math.max(1, timeX(to, now) - timeX(from, now)),
      kind,
    }));
}

/** @param {{ moments: Moment[], picture: Picture }} properties */
function Timeline({ moments, picture }) {
  const { locks, time: now, totals } = picture;
  const rows = locks.slice(0, TIMELINE_ROWS);
  const deaths = moments.filter((moment) => moment.deaths > 0);
  const height = (rows.length + 1) * TIMELINE_ROW_HEIGHT + 8;
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
        viewBox="0 0 ${TIMELINE_WIDTH} ${height}"
        role="img"
        aria-label=${`The last minute of ${rows.length} locks: at most ${count(most)} requests waited, in ${deaths.length} intervals a holder or waiter died.`}
      >
        ${rows.map(
          (lock, row) =>
            html`<g key=${lock.name} transform="translate(0 ${row * TIMELINE_ROW_HEIGHT})">
              <svg class="label" width=${TIMELINE_NAME_WIDTH - 8} height=${TIMELINE_ROW_HEIGHT}>
                <title>${shown(lock.name)}</title>
                <text x="0" y="13">${shown(lock.name).slice(0, MAX_TIMELINE_NAME)}</text>
              </svg>
              ${stretches(moments, lock.name, now).map(
                ({ x, width, kind }) =>
                  html`<rect
                    class=${kind}
                    x=${x}
                    y="3"
                    width=${width}
                    height=${TIMELINE_ROW_HEIGHT - 5}
                  />`,
              )}
            </g>`,
        )}
        ${deaths.map(
          ({ time, deaths: perSecond }) =>
            html`<line
              class="death"
              x1=${timeX(time, now)}
              x2=${timeX(time, now)}
              y1="0"
              y2=${height - TIMELINE_ROW_HEIGHT}
            >
              <title>${perSecond.toFixed(1)} deaths a second</title>
            </line>`,
        )}
        ${[60, 45, 30, 15, 0].map(
          (ago) =>
            html`<text
              class="tick"
              x=${timeX(now - ago * 1_000, now)}
              y=${height - 4}
              text-anchor=${ago === 0 ? 'end' : 'middle'}
              >${ago === 0 ? 'now' : `${ago} s ago`}</text
            >`,
        )}
      </svg>
    </div>
  </section>`;
}

// The table of locks, and the dialog of one lock.

/** @type {{ title: string, isNumber?: boolean, value: (lock: LockView) => number | string }[]} */
const COLUMNS = [
  { title: 'Lock', value: ({ name }) => name },
  { title: 'Waiting', isNumber: true, value: ({ waiting }) => waiting },
  { title: 'Longest wait', isNumber: true, value: ({ oldestWait }) => oldestWait },
  { title: 'Grants a second', isNumber: true, value: (lock) => lock.rate },
  { title: 'Held by', value: ({ held }) => held },
  { title: 'Held for', isNumber: true, value: ({ oldestHold }) => oldestHold },
];

const ROWS_AT_ONCE = 50;
const NOT_RUNNING = new Set(['stopped', 'traced', 'frozen', 'zombie', 'gone']);

const compare = (/** @type {any} */ a, /** @type {any} */ b) => (a < b ? -1 : Number(a > b));

/**
 * Equal rows stand by name: the table's own order differs from table to table.
 * @param {LockView[]} locks
 * @param {{ column: number, isUp: boolean }} order
 */
function sorted(locks, { column, isUp }) {
  const { value } = COLUMNS[column];
  const sign = isUp ? 1 : -1;
  return [...locks].sort((a, b) => sign * compare(value(a), value(b)) || compare(a.name, b.name));
}

/**
 * The locks with a text in their names. If the picture has only a part of the locks, the server
 * searches all of them.
 * @param {Picture} picture
 * @param {string} text
 * @returns {{ total: number, locks: LockView[], isSearching: boolean }}
 */
function useMatches({ locks, totals, number }, text) {
  const isPart = locks.length < totals.names;
  const isRequested = isPart && text !== '';
  const answer = useAnswer(isRequested ? `locks?text=${encodeURIComponent(text)}` : '', number);
  if (answer !== undefined) return { ...answer, isSearching: false };
  const wanted = text.toLowerCase();
  const matches = locks.filter(({ name }) => name.toLowerCase().includes(wanted));
  const total = text === '' ? totals.names : matches.length;
  return { total, locks: matches, isSearching: isRequested };
}

/** @param {Picture} picture @param {boolean} isSearching */
function noLocks({ totals }, isSearching) {
  if (totals.names === 0) return 'No lock is used.';
  return isSearching ? 'Searching …' : 'No lock has this text in its name.';
}

/** @param {{ lock: LockView }} properties */
function Holder({ lock }) {
  const [first] = lock.holders;
  if (first === undefined) return html`<td></td>`;
  const more = lock.held > 1 ? ` and ${lock.held - 1} more` : '';
  const label = first.label === '' ? first.command : first.label;
  return html`<td class="holder" title=${escaped(first.command)}>
    ${who(first)}${more}
    ${NOT_RUNNING.has(first.processState) && html` <strong class="bad">${first.processState}</strong>`}
    ${label !== '' && html` <span class="soft">${escaped(label)}</span>`}
  </td>`;
}

/** @param {{ lock: LockView, onOpen: (name: string) => void }} properties */
const Row = ({ lock, onOpen }) => html`
  <tr class=${lock.isDeadlocked ? 'deadlocked' : ''}>
    <th scope="row">
      <button type="button" class="name" onClick=${() => onOpen(lock.name)}>
        ${shown(lock.name)}
      </button>
      ${lock.isDeadlocked && html` <strong class="bad">deadlock</strong>`}
    </th>
    <td class="number">${count(lock.waiting)}</td>
    <td class="number">${lock.waiting === 0 ? '' : duration(lock.oldestWait)}</td>
    <td class="number">${rate(lock.rate)}</td>
    <${Holder} lock=${lock} />
    <td class="number">${lock.held === 0 ? '' : duration(lock.oldestHold)}</td>
  </tr>
`;

/** @param {{ picture: Picture, onOpen: (name: string) => void }} properties */
function Locks({ picture, onOpen }) {
  const [order, setOrder] = useState({ column: 1, isUp: false });
  const [filter, setFilter] = useState('');
  const [most, setMost] = useState(ROWS_AT_ONCE);
  const { total, locks, isSearching } = useMatches(picture, filter);
  const rows = sorted(locks, order);
  const sortBy = (/** @type {number} */ column) =>
    setOrder({ column, isUp: order.column === column ? !order.isUp : column === 0 });
  const direction = (/** @type {number} */ column) => {
    if (order.column !== column) return undefined;
    return order.isUp ? 'ascending' : 'descending';
  };
  return html`<section id="locks" tabindex="-1" aria-labelledby="locks-title">
    <h2 id="locks-title">Locks</h2>
    <p class="tools">
      <label
        >Filter
        <input
          type="search"
          value=${filter}
          onInput=${(/** @type {any} */ event) => setFilter(event.target.value)}
      /></label>
      <span class="soft">${count(total)} of ${count(picture.totals.names)} locks</span>
      ${isSearching && html`<span class="soft">searching …</span>`}
      ${
        rows.length < total &&
        html`<span class="soft">listed: the ${count(rows.length)} with the longest queues</span>`
      }
    </p>
    <div class="scroll" tabindex="0" role="group" aria-label="Table of locks">
      <table>
        <thead>
          <tr>
            ${COLUMNS.map(
              ({ title, isNumber }, at) =>
                html`<th scope="col" aria-sort=${direction(at)} class=${isNumber ? 'number' : ''}>
                  <button type="button" onClick=${() => sortBy(at)}>
                    ${title}<span aria-hidden="true"
                      >${order.column === at ? (order.isUp ? ' ▲' : ' ▼') : ''}</span
                    >
                  </button>
                </th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${rows.slice(0, most).map((lock) => html`<${Row} key=${lock.name} lock=${lock} onOpen=${onOpen} />`)}
        </tbody>
      </table>
    </div>
    ${rows.length === 0 && html`<p class="soft">${noLocks(picture, isSearching)}</p>`}
    ${
      rows.length > most &&
      html`<button type="button" onClick=${() => setMost(most + ROWS_AT_ONCE)}>
        Show ${ROWS_AT_ONCE} more
      </button>`
    }
  </section>`;
}

/** @param {Request} request */
const priorityOf = ({ priority, overtakes }) =>
  overtakes > 0 ? `${priority}, overtaken ${overtakes}` : priority;

/** @param {{ title: string, requests: Request[], total: number, isHeld: boolean }} properties */
const Requests = ({ title, requests, total, isHeld }) => html`
  <h3>
    ${title}: ${requests.length < total ? `${count(requests.length)} of ` : ''}${count(total)}
  </h3>
  ${
    requests.length > 0 &&
    html`<table>
      <thead>
        <tr>
          <th scope="col">Client</th>
          <th scope="col">Mode</th>
          <th scope="col">Priority</th>
          <th scope="col" class="number">For</th>
          <th scope="col">Process</th>
          <th scope="col">Label</th>
          <th scope="col">Call site</th>
          <th scope="col">Command</th>
        </tr>
      </thead>
      <tbody>
        ${requests.map(
          (request, at) =>
            html`<tr key=${at}>
              <td>${who(request)}</td>
              <td>${request.mode}${request.limit !== null ? ` (${request.limit})` : ''}</td>
              <td>${priorityOf(request)}</td>
              <td class="number">${duration(isHeld ? request.held : request.waited)}</td>
              <td>${request.processState}</td>
              <td>${escaped(request.label)}</td>
              <td>${escaped(request.callSite)}</td>
              <td class="command" title=${escaped(request.command)}>${escaped(request.command)}</td>
            </tr>`,
        )}
      </tbody>
    </table>`
  }
`;

/** @param {{ name: string, number: number | undefined, onClose: () => void }} properties */
function LockDialog({ name, number, onClose }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const lock = useAnswer(`lock?name=${encodeURIComponent(name)}`, number);
  useEffect(() => dialog.current?.showModal(), []);
  return html`<dialog ref=${dialog} onClose=${onClose} aria-labelledby="lock-title">
    <h2 id="lock-title">${shown(name)}</h2>
    <div class="requests" tabindex="0" role="group" aria-label="Requests">
      ${
        lock &&
        html`<${Requests}
            title="Held by"
            requests=${lock.held}
            total=${lock.totals.held}
            isHeld=${true}
          />
          <${Requests}
            title="Waiting, in order"
            requests=${lock.pending}
            total=${lock.totals.pending}
            isHeld=${false}
          />`
      }
    </div>
    <form method="dialog"><button>Close</button></form>
  </dialog>`;
}

// The page.

const THEMES = ['system', 'light', 'dark'];
const THEME_KEY = 'holdfast-theme';

function storedTheme() {
  try {
    return localStorage.getItem(THEME_KEY) ?? 'system';
  } catch {
    return 'system'; // storage is switched off
  }
}

/** @returns {[string, () => void]} the theme, and what goes to the next one */
function useTheme() {
  const [theme, setTheme] = useState(storedTheme);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem(THEME_KEY, theme);
    } catch {
      return; // it lasts as long as the page, then
    }
  }, [theme]);
  return [theme, () => setTheme(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length])];
}

const NEARLY_FULL = 0.8;

/** @param {{ label: string, value: string, isBad?: boolean, hint?: string }} properties */
const Figure = ({ label, value, isBad = false, hint = '' }) => html`
  <div class=${isBad ? 'figure bad' : 'figure'}>
    <dt>${label}</dt>
    <dd>${value}<small>${hint}</small></dd>
  </div>
`;

/** @param {number} part @param {number} of */
const share = (part, of) => `of ${count(of)} (${Math.round((part / of) * 100)} %)`;

/** @param {{ label: string, part: number, of: number }} properties */
const Fill = ({ label, part, of }) => html`
  <${Figure}
    label=${label}
    value=${count(part)}
    hint=${share(part, of)}
    isBad=${part >= of * NEARLY_FULL}
  />
`;

/** @param {{ picture: Picture }} properties */
function Figures({ picture }) {
  const { totals, rates, counts, usage, missed, isSampled } = picture;
  return html`<section aria-labelledby="figures-title">
    <h2 id="figures-title" class="hidden">Figures</h2>
    <dl class="figures">
      <${Figure} label="Locks" value=${count(totals.names)} />
      <${Figure} label="Held" value=${count(totals.held)} />
      <${Figure}
        label="Waiting"
        value=${count(totals.pending)}
        hint=${`longest ${duration(totals.oldestWait)}`}
      />
      <${Figure}
        label="Grants a second"
        value=${rate(rates.grants)}
        hint=${isSampled ? 'times and single locks: of a sample' : ''}
      />
      <${Figure} label="Deaths" value=${count(counts.deaths)} isBad=${rates.deaths > 0} />
      <${Figure} label="Stolen" value=${count(counts.steals)} isBad=${rates.steals > 0} />
      <${Figure} label="Expired" value=${count(counts.expiries)} isBad=${rates.expiries > 0} />
      <${Figure} label="Timed out" value=${count(counts.timeouts)} />
      ${usage && html`<${Fill} label="Table cells" part=${usage.usedCells} of=${usage.maxCells} />`}
      ${usage && html`<${Fill} label="Processes" part=${usage.processes} of=${usage.maxProcesses} />`}
      ${usage && html`<${Fill} label="Threads" part=${usage.agents} of=${usage.maxAgents} />`}
      ${missed > 0 && html`<${Figure} label="Events missed" value=${count(missed)} />`}
    </dl>
  </section>`;
}

/** @param {Picture['deadlocks'][number]['members'][number]} member */
function heldBy({ holders, moreHolders }) {
  const texts = holders.map((holder) => `${who(holder)} for ${duration(holder.held)}`);
  return texts.join('; ') + (moreHolders > 0 ? ` and ${count(moreHolders)} more` : '');
}

/**
 * Announces each deadlock once: its times, which change all the time, are no part of the alert.
 * @param {{ deadlocks: Picture['deadlocks'], more: number }} properties
 */
function Deadlocks({ deadlocks, more }) {
  return html`<div class=${deadlocks.length > 0 ? 'alert' : ''}>
    <div role="alert">
      ${deadlocks.map(({ size }, at) => html`<strong key=${at}>Deadlock of ${size}. </strong>`)}
    </div>
    ${
      deadlocks.length > 0 &&
      html`<div class="scroll short" tabindex="0" role="group" aria-label="Deadlocks">
        ${deadlocks.map(
          ({ size, behind, members }, at) =>
            html`<ul key=${at}>
              ${members.map(
                (member) =>
                  html`<li key=${member.clientId + member.name}>
                    ${who(member)} waits for <code>${shown(member.name)}</code> for
                    ${` ${duration(member.waited)}, held by ${heldBy(member)}`}
                  </li>`,
              )}
              ${size > members.length && html`<li>and ${count(size - members.length)} more</li>`}
              ${behind > 0 && html`<li>and ${count(behind)} more wait behind it</li>`}
            </ul>`,
        )}
        ${more > 0 && html`<p>and ${count(more)} more deadlocks</p>`}
        <p>
          To end one: <code>holdfast steal NAME</code> of one of its locks, or end one of its
          processes. <code>requestAll()</code> and <code>deadlock: 'reject'</code> prevent it.
        </p>
      </div>`
    }
  </div>`;
}

const INCIDENT_WORDS = /** @type {Record<string, string>} */ ({
  died: 'ended with its thread or process',
  stolen: 'was taken away by a steal',
  expired: 'was taken away at its hold limit',
  timedout: 'left the queue: timeout',
});

/** @param {{ incidents: Incident[], counts: Picture['counts'] }} properties */
function Incidents({ incidents, counts }) {
  return html`<section aria-labelledby="incidents-title">
    <h2 id="incidents-title">Incidents</h2>
    <p class="legend">
      ${`${count(counts.deaths)} deaths, ${count(counts.steals)} steals, ${count(counts.expiries)} expired, `}
      ${`${count(counts.timeouts)} timed out since the page was opened`}
    </p>
    <div class="scroll short" tabindex="0" role="group" aria-label="Table of incidents">
      <table>
        <tbody>
          ${incidents.slice(0, 100).map(
            ({ type, name, pid, host, threadId, time }, at) =>
              html`<tr key=${at}>
                <td class="number">${clock(time)}</td>
                <td><span class="tag ${type}">${type}</span></td>
                <th scope="row">${shown(name)}</th>
                <td>${who({ pid, host, threadId })}: ${INCIDENT_WORDS[type]}</td>
              </tr>`,
          )}
        </tbody>
      </table>
      ${incidents.length === 0 && html`<p class="soft">None.</p>`}
    </div>
  </section>`;
}

const STATES = {
  connecting: 'connecting …',
  live: 'live',
  lost: 'the connection is lost; trying again …',
  failed: 'the lock table cannot be watched',
};

/** @param {{ feed: Feed, isPaused: boolean }} properties */
function Connection({ feed, isPaused }) {
  const text = isPaused ? 'paused' : STATES[feed.state];
  const detail = feed.state === 'failed' ? `: ${feed.message}` : '';
  return html`<span class="connection ${isPaused ? 'paused' : feed.state}" role="status"
    >${text}${detail}</span
  >`;
}

function App() {
  const [isPaused, setPaused] = useState(false);
  const [opened, setOpened] = useState(/** @type {string | undefined} */ (undefined));
  const [theme, nextTheme] = useTheme();
  const feed = useFeed(isPaused);
  const open = useCallback((/** @type {string} */ name) => setOpened(name), []);
  const { picture } = feed;
  return html`
    <a class="skip" href="#locks">Skip to the locks</a>
    <header>
      <h1>holdfast</h1>
      <span class="address">${picture?.address}</span>
      <${Connection} feed=${feed} isPaused=${isPaused} />
      <span class="space"></span>
      <button type="button" aria-pressed=${isPaused} onClick=${() => setPaused(!isPaused)}>
        ${isPaused ? 'Resume' : 'Pause'}
      </button>
      <button type="button" onClick=${nextTheme}>Theme: ${theme}</button>
    </header>
    ${
      picture &&
      html`<main>
        <${Deadlocks} deadlocks=${picture.deadlocks} more=${picture.moreDeadlocks} />
        <${Figures} picture=${picture} />
        <div class="columns">
          <${RateChart} moments=${feed.moments} theme=${theme} />
          <${HistogramChart}
            id="waits"
            title="Waited before the grant"
            data=${picture.waits}
            theme=${theme}
          />
          <${HistogramChart} id="holds" title="Held" data=${picture.holds} theme=${theme} />
        </div>
        <${Locks} picture=${picture} onOpen=${open} />
        <${Graph} graph=${picture.graph} onOpen=${open} />
        <${Timeline} moments=${feed.moments} picture=${picture} />
        <${Incidents} incidents=${feed.incidents} counts=${picture.counts} />
      </main>`
    }
    ${
      opened !== undefined &&
      html`<${LockDialog}
        name=${opened}
        number=${picture?.number}
        onClose=${() => setOpened(undefined)}
      />`
    }
  `;
}

render(html`<${App} />`, /** @type {Element} */ (document.getElementById('page')));
