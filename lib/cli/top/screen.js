'use strict';

const { emitKeypressEvents } = require('node:readline');

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
    // Of a process that is told to stop, a thread may go on for a while: the shell has the screen.
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

module.exports = { Screen };
