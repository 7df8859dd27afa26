'use strict';

const { colors } = require('../output.js');
const { render } = require('./render.js');
const { Screen } = require('./screen.js');
const { TopState } = require('./top-state.js');

/** @typedef {import('../lock-monitor.js').LockMonitor} LockMonitor */
/** @typedef {import('../lock-monitor.js').View} View */

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

  /** @param {import('./screen.js').Key} key */
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

module.exports = { TopSession };
