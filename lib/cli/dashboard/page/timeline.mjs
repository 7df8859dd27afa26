import { count, shown } from './format.mjs';
import { html } from './html.mjs';

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
        aria-label=${`The last minute of ${rows.length} locks: at most ${count(most)} requests waited, in ${deaths.length} intervals somebody died.`}
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
