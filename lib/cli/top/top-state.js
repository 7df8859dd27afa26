'use strict';

const { isRemarkable } = require('../lock-rows.js');

/** @typedef {import('../lock-monitor.js').View} View */
/** @typedef {import('../lock-monitor.js').NameView} NameView */
/** @typedef {import('../top.js').Key} Key */

/** @param {NameView} view */
const oldestWait = ({ pending }) =>
  pending.reduce((oldest, { waited }) => Math.max(oldest, waited), 0);
/** @param {NameView} view */
const oldestHold = ({ held }) => held.reduce((oldest, lock) => Math.max(oldest, lock.held ?? 0), 0);

const collator = new Intl.Collator('en', { numeric: true });
/** @param {NameView} a @param {NameView} b */
const byName = (a, b) => collator.compare(a.name, b.name);

/** The sort orders of the rows; the largest first, names from A on. */
const ORDERS = /** @type {const} */ ([
  { title: 'waiting', value: (/** @type {NameView} */ view) => view.pending.length },
  { title: 'grants/s', value: (/** @type {NameView} */ view) => view.rate },
  { title: 'longest wait', value: oldestWait },
  { title: 'longest hold', value: oldestHold },
  { title: 'name', value: undefined },
]);

/** The choices of the user at the terminal. Knows keys and rows, and nothing of drawing. */
class TopState {
  #order = 0;
  #isReversed = false;
  #selected = 0;
  filter = '';
  isTyping = false;
  isPaused = false;
  isHelp = false;
  /** @type {string | undefined} the lock that is shown with all its requests */
  detail = undefined;
  scroll = 0;

  get order() {
    return ORDERS[this.#order].title;
  }

  get isReversed() {
    return this.#isReversed;
  }

  get selected() {
    return this.#selected;
  }

  /**
   * The rows to show: deadlocked ones first, then those whose holder does not run, in any order
   * that was chosen.
   * @param {Pick<View, 'names' | 'deadlocks'>} view
   * @returns {NameView[]}
   */
  rows({ names, deadlocks }) {
    const stuck = new Set(deadlocks.flatMap(({ members }) => members.map(({ name }) => name)));
    const rank = (/** @type {NameView} */ { name, held }) =>
      stuck.has(name) ? 2 : Number(held.some(isRemarkable));
    const { value } = ORDERS[this.#order];
    const wanted = this.filter.toLowerCase();
    const rows = names
      .filter(({ name }) => name.toLowerCase().includes(wanted))
      .map((view) => ({ view, value: value?.(view) ?? 0 }))
      .sort(
        (a, b) =>
          b.value - a.value ||
          (value && b.view.held.length - a.view.held.length) ||
          byName(a.view, b.view),
      )
      .map(({ view }) => view);
    if (this.#isReversed) rows.reverse();
    rows.sort((a, b) => rank(b) - rank(a));
    this.#selected = Math.max(0, Math.min(this.#selected, rows.length - 1));
    return rows;
  }

  /**
   * @param {Key} key
   * @param {NameView[]} rows  shown now
   * @returns {boolean} whether the program is to end
   */
  press(key, rows) {
    if (key.ctrl && key.name === 'c') return true;
    if (this.isTyping) {
      this.#type(key);
      return false;
    }
    if (key.name === 'q') return true;
    this.#choose(key, rows);
    return false;
  }

  /** @param {Key} key */
  #type({ name, sequence = '' }) {
    if (name === 'return' || name === 'enter') this.isTyping = false;
    else if (name === 'escape') {
      this.isTyping = false;
      this.filter = '';
    } else if (name === 'backspace') this.filter = [...this.filter].slice(0, -1).join('');
    else if (sequence >= ' ' && !sequence.startsWith('\u001b')) this.filter += sequence;
  }

  /**
   * @param {Key} key
   * @param {NameView[]} rows
   */
  #choose({ name, sequence }, rows) {
    const key = name ?? sequence ?? '';
    const last = Math.max(0, rows.length - 1);
    const move = (/** @type {number} */ by) => {
      if (this.detail === undefined) {
        this.#selected = Math.max(0, Math.min(last, this.#selected + by));
      } else this.scroll = Math.max(0, this.scroll + by);
    };
    /** @type {Record<string, () => void>} */
    const actions = {
      up: () => move(-1),
      k: () => move(-1),
      down: () => move(1),
      j: () => move(1),
      pageup: () => move(-10),
      pagedown: () => move(10),
      home: () => move(-last),
      end: () => move(last),
      s: () => (this.#order = (this.#order + 1) % ORDERS.length),
      r: () => (this.#isReversed = !this.#isReversed),
      space: () => (this.isPaused = !this.isPaused),
      '/': () => (this.isTyping = true),
      '?': () => (this.isHelp = !this.isHelp),
      h: () => (this.isHelp = !this.isHelp),
      return: () => this.#open(rows[this.#selected]),
      enter: () => this.#open(rows[this.#selected]),
      escape: () => this.#back(),
      left: () => this.#back(),
      right: () => this.#open(rows[this.#selected]),
    };
    (actions[sequence ?? ''] ?? actions[key])?.();
  }

  /** @param {NameView | undefined} view */
  #open(view) {
    if (this.detail !== undefined || view === undefined) return;
    this.detail = view.name;
    this.scroll = 0;
  }

  #back() {
    if (this.isHelp) this.isHelp = false;
    else if (this.detail !== undefined) this.detail = undefined;
    else this.filter = '';
  }
}

module.exports = { TopState, oldestHold, oldestWait };
