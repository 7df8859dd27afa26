'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { closeSync, openSync, readSync, writeSync } = require('node:fs');
const { join } = require('node:path');

const PROGRAM = join(__dirname, '../shared-memory/faults-program.js');
const WATCHDOG_MS = 30_000;

/** `struct Faults` of preload/faults.c. */
const BYTES = 72;
const NUMBERS = 5;
const NAME_AT = 40;

/** The word of a test to the library in the other process: which of its calls fail. */
class FaultControl {
  #fd;

  constructor(file) {
    this.#fd = openSync(file, 'w+');
    this.set();
  }

  /** Counts from 1 again; the calls `first` to `last` fail, with one of their errors. */
  set({ first = 0, last = first, variant = 0 } = {}) {
    const bytes = Buffer.alloc(BYTES);
    bytes.set(new Uint8Array(new BigInt64Array([first, last, variant].map(BigInt)).buffer));
    writeSync(this.#fd, bytes, 0, BYTES, 0);
  }

  /** @returns {{ calls: number, failed: number, name: string }} so far */
  read() {
    const bytes = Buffer.alloc(BYTES);
    readSync(this.#fd, bytes, 0, BYTES, 0);
    const numbers = new BigInt64Array(bytes.buffer, bytes.byteOffset, NUMBERS);
    const name = bytes.toString('latin1', NAME_AT).replace(/\0.*/s, '');
    return { calls: Number(numbers[3]), failed: Number(numbers[4]), name };
  }

  close() {
    closeSync(this.#fd);
  }
}

/** A process that uses a bucket while its system calls fail. */
class FaultyProcess {
  #child;
  #lastId = 0;
  #answers = new Map();
  #onEvent = {};
  /** When it has ended: `[code, signal]`. */
  ended;

  /** @param {{ inside?: string[], env?: object }} [options] */
  constructor({ inside = [], env } = {}) {
    const [execPath, ...execArgv] = [...inside, process.execPath];
    this.#child = fork(PROGRAM, { execPath, execArgv, env: { ...process.env, ...env } });
    this.#child.on('message', (message) => this.#receive(message));
    this.ended = once(this.#child, 'exit');
    this.ended.then(([code, signal]) => {
      for (const { reject } of this.#answers.values())
        reject(new Error(`ended: ${code ?? signal}`));
    });
  }

  #receive({ id, event, value, error }) {
    if (event !== undefined) return this.#onEvent[event](event);
    const { resolve } = this.#answers.get(id);
    this.#answers.delete(id);
    return resolve({ value, error });
  }

  /**
   * Carries out an order. Never rejects with what the process said: gives `{ value }` or
   * `{ error }`.
   * @returns {Promise<{ value?: any, error?: { name: string, message: string, reason?: string } }>}
   */
  order(order, argument) {
    const id = (this.#lastId += 1);
    return new Promise((resolve, reject) => {
      const watchdog = setTimeout(() => reject(new Error(`no answer to "${order}"`)), WATCHDOG_MS);
      const answer = (settle) => (outcome) => {
        clearTimeout(watchdog);
        settle(outcome);
      };
      this.#answers.set(id, { resolve: answer(resolve), reject: answer(reject) });
      this.#child.send({ id, order, argument });
    });
  }

  /**
   * @returns {{ asked: Promise<string>, granted: Promise<string>,
   *   settled: ReturnType<FaultyProcess['order']> }}
   */
  request(name, options = {}) {
    const untilEvent = (event) => new Promise((resolve) => (this.#onEvent[event] = resolve));
    const [requested, granted] = [untilEvent('asked'), untilEvent('granted')];
    return { requested, granted, settled: this.order('request', { name, options }) };
  }

  get pid() {
    return this.#child.pid;
  }

  kill() {
    this.#child.kill('SIGKILL');
    return this.ended;
  }
}

module.exports = { FaultControl, FaultyProcess };
