'use strict';

const { writeFileSync } = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');

const LIBRARY = '/usr/$LIB/faketime/libfaketime.so.1';
/** How the wall clocks jump, as libfaketime reads it. */
const JUMPS = ['+1h', '-1h', '+0', '+10d', '-10d'];
/** Longer than libfaketime remembers what it has read. */
const UNTIL_READ_MS = 1_500;

/** The wall clock of processes that have been started with `env`: it can be set. */
class FalseClock {
  #file;

  /** @param {string} file  that libfaketime reads again and again */
  constructor(file) {
    this.#file = file;
    writeFileSync(file, '+0\n');
    this.env = {
      LD_PRELOAD: LIBRARY,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** Resolves when all of them have noticed. @param {string} jump */
  async set(jump) {
    writeFileSync(this.#file, `${jump}\n`);
    await sleep(UNTIL_READ_MS);
  }
}

module.exports = { FalseClock, JUMPS };
