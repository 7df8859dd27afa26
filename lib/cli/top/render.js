'use strict';

const stringWidth = require('string-width');
const { formatDuration, formatTime } = require('../durations.js');
const { HISTORY } = require('../lock-monitor.js');
const {
  COLUMNS,
  isRemarkable,
  lockRows,
  pidText,
  shortCommand,
  threadText,
  toCells,
} = require('../lock-rows.js');
const { printable } = require('../printable.js');
const { cut, pad, tableLines } = require('../table.js');
const { oldestWait } = require('./top-state.js');

const BARS = '▁▂▃▄▅▆▇█';

/**
 * @param {number[]} values  the newest last
 * @param {{ width: number, span: number }} size  span: how many values the whole width stands for
 * @returns {string} as wide, each bar the mean of its values; a dot: nothing happened, or was known
 */
function sparkline(values, { width, span }) {
  const all = [...Array(Math.max(0, span - values.length)).fill(0), ...values.slice(-span)];
  const startOf = (/** @type {number} */ bar) => Math.floor((bar * span) / width);
  const means = Array.from({ length: width }, (_, bar) => {
    const part = all.slice(startOf(bar), Math.max(startOf(bar) + 1, startOf(bar + 1)));
    return part.reduce((sum, value) => sum + value, 0) / part.length;
  });
  const most = Math.max(...means);
  const toBar = (/** @type {number} */ mean) =>
    mean === 0 ? '·' : BARS[Math.min(BARS.length - 1, Math.floor((mean / most) * BARS.length))];
  return means.map(toBar).join('');
}

/** @typedef {import('../lock-monitor.js').View} View */
/** @typedef {import('../lock-monitor.js').NameView} NameView */
/** @typedef {import('./top-state.js').TopState} TopState */
/** @typedef {{ columns: number, rows: number }} Size */
/** @typedef {typeof import('picocolors')} Colors */
/**
 * @typedef {object} Frame  what one picture is made of
 * @property {View} view
 * @property {TopState} state
 * @property {NameView[]} rows  chosen and sorted
 * @property {Size} size
 * @property {string} place
 * @property {number} delay  ms between two views
 * @property {Colors} colors
 */

const SPARK_WIDTH = 30;
/** Terminals that are narrower have no room for a column beside the holder. */
const MIN_COLUMNS = { history: 110, rate: 76, oldest: 66 };
/** Three at the head, an empty one, the titles of the columns, the keys. */
const FIXED_LINES = 6;
const MINUTE_MS = 60_000;

const HELP = [
  '  ↑ ↓  j k    move              Enter →   show the requests of a lock',
  '  s           sort by the next  Esc ←     go back, clear the filter',
  '  r           reverse           Space     pause',
  '  /           filter by name    ?  h      this help',
  '  q  Ctrl-C   quit              Ctrl-Z    suspend',
  '',
  '  Rates are grants in a second; bars show how they were, the highest of each lock full.',
];

/** @param {number} rate */
const formatRate = (rate) => (rate >= 100 ? String(Math.round(rate)) : rate.toFixed(1));

/**
 * The rows for which the terminal has room.
 * @param {Pick<Frame, 'state' | 'rows' | 'size'>} frame
 */
function listWindow({ state, rows, size }) {
  const room = size.rows - FIXED_LINES;
  const first = Math.max(0, Math.min(state.selected - room + 1, rows.length - room));
  return { first, shown: rows.slice(first, first + room), total: rows.length };
}

/** @param {{ first: number, shown: unknown[], total: number }} part */
const partText = ({ first, shown, total }) =>
  shown.length < total ? `  rows ${first + 1} to ${first + shown.length} of ${total}` : '';

/** @param {Frame} frame @returns {string[]} */
function headLines({ view, state, rows, place, size, colors }) {
  const { totals, counts, rates } = view;
  const title = `holdfast top  ${place}`;
  const time = formatTime(view.time).slice(0, 8) + (state.isPaused ? '  PAUSED' : '');
  const gap = ' '.repeat(Math.max(1, size.columns - stringWidth(title) - stringWidth(time)));
  const deadlocks = view.deadlocks.length;
  const figures =
    `${totals.held} held  ${totals.pending} waiting  ${totals.agents} threads  ` +
    `${formatRate(rates.grants)} grants/s`;
  const incidents =
    `deaths ${counts.deaths}  stolen ${counts.steals}  expired ${counts.expiries}  ` +
    `timeouts ${counts.timeouts}  aborts ${counts.aborts}`;
  const missed = view.missed > 0 ? `  missed ${view.missed}` : '';
  const sampled = view.isSampled ? '  times and single locks: of a sample' : '';
  const alarm = deadlocks > 0 ? colors.red(colors.bold(`  DEADLOCKS ${deadlocks}`)) : '';
  const width = size.columns - (deadlocks > 0 ? 14 : 0);
  const part = state.detail === undefined ? partText(listWindow({ state, rows, size })) : '';
  return [
    colors.bold(cut(title + gap + time, size.columns)),
    cut(figures + part, width) + alarm,
    colors.dim(cut(incidents + missed + sampled, size.columns)),
  ];
}

/** @param {Frame} frame */
function footLine({ state, size, colors }) {
  if (state.isTyping) return cut(`filter: ${printable(state.filter)}▏`, size.columns);
  const order = `${state.order}${state.isReversed ? ' ↑' : ' ↓'}`;
  const filter = state.filter === '' ? '' : `  filter: ${printable(state.filter)}`;
  const keys = `q quit  s sort: ${order}  / filter  Enter details  ? help${filter}`;
  return colors.inverse(pad(cut(keys, size.columns), size.columns));
}

/** @param {NameView} view */
function holderText({ held }) {
  if (held.length === 0) return '';
  const [first] = held;
  const thread = first.threadId === 0 ? '' : `/${threadText(first)}`;
  const more = held.length > 1 ? ` +${held.length - 1}` : '';
  const state = isRemarkable(first) ? ` ${first.processState}` : '';
  const label = first.label === '' ? shortCommand(first.command) : printable(first.label);
  const who = `${pidText(first)}${thread}${more}${state}`;
  return `${who} ${formatDuration(first.held)} ${label}`.trimEnd();
}

/** @param {number} delay  ms between two views */
function historyTitle(delay) {
  const ms = HISTORY * delay;
  return ms === MINUTE_MS ? 'LAST MINUTE' : `LAST ${formatDuration(ms).toUpperCase()}`;
}

/** @param {Frame} frame @returns {string[]} */
function listLines({ view, state, rows, size, delay, colors }) {
  const { shown, first } = listWindow({ state, rows, size });
  const nameWidth = Math.floor(size.columns / 4);
  const allColumns = [
    { title: 'NAME' },
    { title: 'HELD', isNumber: true },
    { title: 'WAIT', isNumber: true },
    { title: 'OLDEST', isNumber: true, minColumns: MIN_COLUMNS.oldest },
    { title: 'GRANTS/S', isNumber: true, minColumns: MIN_COLUMNS.rate },
    { title: historyTitle(delay), minColumns: MIN_COLUMNS.history },
    { title: 'HOLDER' },
  ];
  const isShown = allColumns.map(({ minColumns = 0 }) => size.columns >= minColumns);
  const columns = allColumns.filter((_, at) => isShown[at]);
  const stuck = new Set(view.deadlocks.flatMap(({ members }) => members.map(({ name }) => name)));
  const toRow = (/** @type {NameView} */ one) => [
    cut(printable(one.name), nameWidth),
    String(one.held.length),
    String(one.pending.length),
    one.pending.length === 0 ? '-' : formatDuration(oldestWait(one)),
    formatRate(one.rate),
    sparkline(one.history, { width: SPARK_WIDTH, span: HISTORY }),
    holderText(one),
  ];
  const cells = shown.map((one) => toRow(one).filter((_, at) => isShown[at]));
  const lines = tableLines(columns, cells, { width: size.columns });
  return lines.map((line, at) => {
    if (at === 0) return colors.bold(cut(line, size.columns));
    const text = cut(line, size.columns);
    if (first + at - 1 === state.selected) return colors.inverse(pad(text, size.columns));
    const { name, held } = shown[at - 1];
    if (stuck.has(name)) return colors.red(text);
    return held.some(isRemarkable) ? colors.yellow(text) : text;
  });
}

/** @param {Frame} frame @returns {string[]} */
function detailLines({ view, state, size, colors }) {
  const name = /** @type {string} */ (state.detail);
  const one = view.names.find((other) => other.name === name);
  const { held, pending } = one ?? { held: [], pending: [] };
  const rows = lockRows({ held, pending });
  const room = size.rows - FIXED_LINES - 1;
  state.scroll = Math.max(0, Math.min(state.scroll, rows.length - room));
  const shown = rows.slice(state.scroll, state.scroll + room);
  const lines = tableLines(
    COLUMNS.slice(1),
    shown.map((row) => toCells(row).slice(1)),
    {
      width: size.columns,
    },
  );
  const part = partText({ first: state.scroll, shown, total: rows.length });
  const title = `${printable(name)}: ${held.length} held, ${pending.length} waiting${part}`;
  return [
    colors.bold(cut(title, size.columns)),
    ...lines.map((line, at) => {
      const text = cut(line, size.columns);
      return at > 0 && isRemarkable(shown[at - 1]) ? colors.red(text) : text;
    }),
  ];
}

/** @param {Frame} frame @returns {string[]} */
function bodyLines(frame) {
  if (frame.state.isHelp) return HELP.map((line) => cut(line, frame.size.columns));
  if (frame.state.detail !== undefined) return detailLines(frame);
  if (frame.rows.length > 0) return listLines(frame);
  const why = frame.state.filter === '' ? 'No lock is used.' : 'No lock of this name is used.';
  return [frame.colors.dim(why)];
}

/**
 * One picture of the terminal: as many lines as it has, none of them wider.
 * @param {Frame} frame
 * @returns {string[]}
 */
function render(frame) {
  const lines = [...headLines(frame), '', ...bodyLines(frame)].slice(0, frame.size.rows - 1);
  while (lines.length < frame.size.rows - 1) lines.push('');
  return [...lines, footLine(frame)];
}

module.exports = { render };
