import htm from 'htm';
import { h } from 'preact';

/** Elements as templates. */
export const html = /** @type {any} */ (htm).bind(h);

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/**
 * Cuts off smaller units, as on the command line.
 * @param {number | null} ms
 */
export function duration(ms) {
  if (ms === null) return '–';
  if (ms < SECOND) return `${Math.floor(ms)} ms`;
  if (ms < MINUTE) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min ${Math.floor((ms % MINUTE) / SECOND)} s`;
  return `${Math.floor(ms / HOUR)} h ${Math.floor((ms % HOUR) / MINUTE)} min`;
}

/** @param {number} seconds  a bound of a histogram */
export function bound(seconds) {
  if (seconds < 0.001) return `${seconds * 1e6} µs`;
  if (seconds < 1) return `${seconds * 1e3} ms`;
  return seconds < 60 ? `${seconds} s` : `${seconds / 60} min`;
}

/** @param {number} value */
export const count = (value) => Math.round(value).toLocaleString('en');

const short = new Intl.NumberFormat('en', { notation: 'compact' });
/** @param {number} value  beside an axis, where there is little room */
export const compact = (value) => short.format(value);

/** @param {number} value  a second */
export const rate = (value) => (value >= 100 ? count(value) : value.toFixed(1));

/** @param {number} time */
export const clock = (time) => new Date(time).toLocaleTimeString('en-GB');

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Surrogate}\u2028\u2029]/gu;

/** @param {string} text  of another process, which may be anything */
export const escaped = (text) =>
  text.replace(UNPRINTABLE, (unit) => `\\u{${unit.codePointAt(0)?.toString(16)}}`);

/** @param {string} name */
export const shown = (name) => (name === '' ? '(empty name)' : escaped(name));

/** @param {{ pid: number, host?: string, threadId: number }} request  host: of another machine */
export function who({ pid, host = '', threadId }) {
  const process = pid === 0 ? 'another container' : `pid ${pid}`;
  const machine = host === '' ? '' : ` on ${escaped(host)}`;
  return `${process}${machine}${threadId === 0 ? '' : `, thread ${threadId}`}`;
}
