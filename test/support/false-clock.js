'use strict';

const { existsSync, rmSync, writeFileSync } = require('node:fs');
const { setTimeout: sleep } = require('node:timers/promises');

const LIBRARY = '/usr/$LIB/faketime/libfaketime.so.1';
/** The loader's values of `$LIB`, on the systems that have the library. */
const LIBRARY_FOLDERS = [
  'lib',
  'lib64',
  `lib/${process.arch === 'arm64' ? 'aarch64' : 'x86_64'}-linux-gnu`,
];
/** Without it the loader only warns, and no clock is set. */
const canSetClocks = LIBRARY_FOLDERS.some((it) => existsSync(LIBRARY.replace('$LIB', it)));
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** How the wall clocks jump, as libfaketime reads it, in ms. */
const JUMPS = {
  '+1h': HOUR_MS,
  '-1h': -HOUR_MS,
  '+0': 0,
  '+10d': 10 * DAY_MS,
  '-10d': -10 * DAY_MS,
};
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

  /** Resolves when most programs have noticed. @param {string} jump */
  async set(jump) {
    writeFileSync(this.#file, `${jump}\n`);
    await sleep(UNTIL_READ_MS);
  }
}

/** The library leaves files of processes that were killed. @param {number[]} pids */
function forgetClocksOf(pids) {
  for (const pid of pids) {
    for (const name of [`faketime_shm_${pid}`, `sem.faketime_sem_${pid}`]) {
      rmSync(`/dev/shm/${name}`, { force: true });
    }
  }
}

module.exports = { FalseClock, JUMPS, canSetClocks, forgetClocksOf };
