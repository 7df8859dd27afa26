'use strict';

const { emitKeypressEvents } = require('node:readline');
const { Option } = require('commander');
const { colors, printLine, toJson } = require('./output.js');
const { render } = require('./top/render.js');
const { TopState } = require('./top/top-state.js');
const { LockMonitor } = require('./lock-monitor.js');
const { openExistingPlace, placeText } = require('./table-options.js');
const { toMilliseconds } = require('./seconds.js');

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
   * @param {NodeJS.WriteStream} [output]
   */
  constructor({ onKey, onResize }, input = process.stdin, output = process.stdout) {
    this.#input = input;
    this.#output = output;
    this.#onKey = (key) => this.#dispatch(key, onKey);
    this.#onResize = () => {
      this.#shown = [];
      onResize();
    };
  }

  get size() {
    const { columns = DEFAULT_SIZE.columns, rows = DEFAULT_SIZE.rows } = this.#output;
    return { columns, rows };
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

/** @typedef {import('./lock-monitor.js').View} View */

const SIGNALS = /** @type {const} */ (['SIGTERM', 'SIGHUP', 'SIGINT']);

const NO_VIEW = { names: [], deadlocks: [] };

/** `top` in a terminal: one picture after the other, and keys, until the person quits. */
class TopSession {
  #monitor;
  #place;
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
   * @param {{ place: string, delay: number }} options  delay: ms between two pictures
   */
  constructor(monitor, { place, delay }) {
    this.#monitor = monitor;
    this.#place = place;
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
    const [place, delay] = [this.#place, this.#delay];
    this.#screen.draw(render({ view, state, rows, size, place, delay, colors }));
  }
}

/** @typedef {import('./table-options.js').Place & { delay: number, once?: boolean }} Options */

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
    printLine(toJson(view));
    return;
  }
  const state = new TopState();
  const rows = state.rows(view);
  const { delay } = options;
  const place = placeText(options);
  const plain = { ...colors, ...colors.createColors(false) };
  const lines = render({ view, state, rows, size: PAGE, place, delay, colors: plain });
  for (const line of lines.slice(0, -1)) if (line !== '') printLine(line.trimEnd());
}

/** @param {Options} options */
async function top(options) {
  const manager = openExistingPlace(options);
  const monitor = new LockMonitor(manager);
  await monitor.start();
  const delay = Math.max(MIN_DELAY_MS, options.delay);
  const isScreen = process.stdout.isTTY && process.stdin.isTTY && !options.once && !options.json;
  if (isScreen) await new TopSession(monitor, { place: placeText(options), delay }).run();
  else await printPage(monitor, { ...options, delay });
  monitor.close();
  manager.close();
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

module.exports = { Screen, add };
