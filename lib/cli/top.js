'use strict';

const stringWidth = require('string-width');
const { emitKeypressEvents } = require('node:readline');
const { Option } = require('commander');
const {
  COLUMNS,
  isRemarkable,
  lockRows,
  pidText,
  shortCommand,
  threadText,
  toCells,
} = require('./lock-rows.js');
const { formatDuration, formatTime } = require('./durations.js');
const { HISTORY, LockMonitor } = require('./lock-monitor.js');
const { printable } = require('./printable.js');
const { cut, pad, tableLines } = require('./table.js');
const output = require('./output.js');
const { openExistingManager, otherUsersText, addressText } = require('./table-options.js');
const { toMilliseconds } = require('./seconds.js');

/** @typedef {import('./lock-monitor.js').View} View */
/** @typedef {import('./lock-monitor.js').NameView} NameView */

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

/** @typedef {{ columns: number, rows: number }} Size */
/** @typedef {typeof import('picocolors')} Colors */
/**
 * @typedef {object} Frame  what one picture is made of
 * @property {View} view
 * @property {TopState} state
 * @property {NameView[]} rows  chosen and sorted
 * @property {Size} size
 * @property {string} address
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
function headLines({ view, state, rows, address, size, colors }) {
  const { totals, counts, rates } = view;
  const title = `holdfast top  ${address}`;
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
  return [frame.colors.dim(cut(why, frame.size.columns))];
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

const ESCAPE = '\u001b[';
const ENTER_SCREEN = `${ESCAPE}?1049h${ESCAPE}?25l${ESCAPE}H${ESCAPE}2J`;
const LEAVE_SCREEN = `${ESCAPE}?25h${ESCAPE}?1049l`;
const DEFAULT_SIZE = { columns: 80, rows: 24 };

/** @typedef {{ name?: string, ctrl?: boolean, sequence?: string }} Key */

/** The whole terminal, for lines and keys. Writes only the lines that have changed. */
class Screen {
  #input;
  #output;
  /** @type {string[]} what the terminal shows */
  #shown = [];
  #isOpen = false;
  /** @type {(key: Key) => void} */
  #onKey;
  /** @type {() => void} */
  #onResize;
  #leave = () => this.close();
  #resume = () => this.#enter();

  /**
   * @param {{ onKey: (key: Key) => void, onResize: () => void }} listeners
   * @param {NodeJS.ReadStream} [input]
   * @param {NodeJS.WriteStream} [terminal]
   */
  constructor({ onKey, onResize }, input = process.stdin, terminal = process.stdout) {
    this.#input = input;
    this.#output = terminal;
    this.#onKey = (key) => this.#dispatch(key, onKey);
    this.#onResize = () => {
      this.#shown = [];
      onResize();
    };
  }

  get size() {
    const { columns, rows } = this.#output;
    return { columns: columns || DEFAULT_SIZE.columns, rows: rows || DEFAULT_SIZE.rows };
  }

  open() {
    emitKeypressEvents(this.#input);
    this.#input.on('keypress', (_, key) => this.#onKey(key));
    this.#output.on('resize', this.#onResize);
    process.on('exit', this.#leave); // whatever ends the program: the terminal is usable again
    process.on('SIGCONT', this.#resume);
    this.#enter();
  }

  /** @param {string[]} lines  one for each row, not wider than the terminal */
  draw(lines) {
    // After a stop signal a thread may continue for a while: the shell has the screen by then.
    if (!this.#isOpen) return;
    const { rows } = this.size;
    let text = '';
    for (let row = 0; row < rows; row += 1) {
      const line = lines[row] ?? '';
      if (this.#shown[row] !== line) text += `${ESCAPE}${row + 1};1H${line}${ESCAPE}0m${ESCAPE}K`;
      this.#shown[row] = line;
    }
    if (text !== '') this.#output.write(text);
  }

  close() {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#output.write(LEAVE_SCREEN);
    if (this.#input.isTTY) this.#input.setRawMode(false);
    this.#input.pause();
  }

  #enter() {
    this.#isOpen = true;
    this.#shown = [];
    if (this.#input.isTTY) this.#input.setRawMode(true);
    this.#input.resume();
    this.#output.write(ENTER_SCREEN);
    this.#onResize();
  }

  /**
   * In raw mode the terminal sends no signals for keys.
   * @param {Key} key
   * @param {(key: Key) => void} onKey
   */
  #dispatch(key, onKey) {
    if (key.ctrl && key.name === 'z') {
      this.close();
      process.kill(0, 'SIGTSTP'); // the process group, as the terminal would
    } else {
      onKey(key);
    }
  }
}

const SIGNALS = /** @type {const} */ (['SIGTERM', 'SIGHUP', 'SIGINT']);

const NO_VIEW = { names: [], deadlocks: [] };

/** `top` in a terminal: one picture after the other, and keys, until the person quits. */
class TopSession {
  #monitor;
  #address;
  #delay;
  #state = new TopState();
  /** @type {View | undefined} */
  #view = undefined;
  #screen = new Screen({ onKey: (key) => this.#onKey(key), onResize: () => this.#draw() });
  /** @type {NodeJS.Timeout | undefined} */
  #timer = undefined;
  /** @type {() => void} */
  #quit = () => {};

  /**
   * @param {LockMonitor} monitor
   * @param {{ address: string, delay: number }} options  delay: ms between two pictures
   */
  constructor(monitor, { address, delay }) {
    this.#monitor = monitor;
    this.#address = address;
    this.#delay = delay;
  }

  /** @returns {Promise<void>} when the person has quit */
  async run() {
    this.#view = await this.#monitor.view();
    this.#screen.open();
    try {
      await new Promise((/** @type {(value?: undefined) => void} */ quit, fail) => {
        this.#quit = quit;
        for (const signal of SIGNALS) process.once(signal, () => quit());
        this.#refreshLater(fail);
      });
    } finally {
      clearTimeout(this.#timer);
      this.#screen.close();
    }
  }

  /** @param {(error: unknown) => void} fail */
  #refreshLater(fail) {
    const refresh = async () => {
      if (!this.#state.isPaused) this.#view = await this.#monitor.view();
      this.#draw();
      this.#refreshLater(fail);
    };
    this.#timer = setTimeout(() => refresh().catch(fail), this.#delay);
  }

  /** @param {Key} key */
  #onKey(key) {
    if (this.#state.press(key, this.#state.rows(this.#view ?? NO_VIEW))) this.#quit();
    else this.#draw();
  }

  #draw() {
    if (this.#view === undefined) return;
    const [view, state, { size }] = [this.#view, this.#state, this.#screen];
    const rows = state.rows(view);
    const [address, delay] = [this.#address, this.#delay];
    this.#screen.draw(render({ view, state, rows, size, address, delay, colors: output.colors }));
  }
}

/** @typedef {import('./table-options.js').Address & { delay: number, once?: boolean }} Options */

const DEFAULT_DELAY_MS = 1_000;
const MIN_DELAY_MS = 100;

/** Without a terminal: what one screen would show, as text. */
const PAGE = { columns: 132, rows: 60 };

/**
 * @param {LockMonitor} monitor
 * @param {Options} options
 */
async function printPage(monitor, options) {
  await new Promise((resolve) => setTimeout(resolve, options.delay)); // rates need two views
  const view = await monitor.view();
  if (options.json) {
    output.printLine(output.toJson(view));
    return;
  }
  const state = new TopState();
  const rows = state.rows(view);
  const { delay } = options;
  const address = addressText(options);
  const plain = { ...output.colors, ...output.colors.createColors(false) };
  const lines = render({ view, state, rows, size: PAGE, address, delay, colors: plain });
  for (const line of lines.slice(0, -1)) if (line !== '') output.printLine(line.trimEnd());
}

/** @param {Options} options */
async function top(options) {
  const manager = openExistingManager(options);
  const monitor = new LockMonitor(manager);
  await monitor.start();
  const delay = Math.max(MIN_DELAY_MS, options.delay);
  const isScreen = process.stdout.isTTY && process.stdin.isTTY && !options.once && !options.json;
  if (isScreen) await new TopSession(monitor, { address: addressText(options), delay }).run();
  else await printPage(monitor, { ...options, delay });
  monitor.close();
  manager.close();
  const others = otherUsersText(options);
  if (others !== '') output.note(others);
}

/** @param {import('commander').Command} program */
const add = (program) =>
  program
    .command('top')
    .description('show all locks live: queues, rates, holders; keys sort, filter and open a lock')
    .addOption(
      new Option('-d, --delay <seconds>', 'between two pictures')
        .argParser(toMilliseconds)
        .default(DEFAULT_DELAY_MS, '1'),
    )
    .option('--once', 'print one page and exit, as without a terminal')
    .option('--json', 'print one page as JSON')
    .action(top);

module.exports = { TopState, render, Screen, add };
