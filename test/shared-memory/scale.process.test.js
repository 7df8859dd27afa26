'use strict';

const { execFile } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { promisify } = require('node:util');
const { lengthOf } = require('../support/lengths.js');
const { LOADS } = require('../../bench/lock-loads.js');

// bench/scenarios/queue.js shows the cost of a request at these sizes.
const PROGRAM = join(__dirname, '../support/process-scale-program.js');
const SIZES = [1_000, 10_000, 100_000];
const LARGEST = SIZES.at(-1);
const ROUNDS = lengthOf(undefined, { whole: 3, part: 2 });
/** The largest loads take seconds of processor time, which a busy machine gives in minutes. */
const WATCHDOG_MS = 15 * 60_000;
const NOTHING = { held: [], pending: [] };

/** Runs a load in a separate process; fails when the load finds anything wrong. */
async function run(task) {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
  try {
    const options = [
      '--expose-gc',
      PROGRAM,
      JSON.stringify({ directory, rounds: ROUNDS, ...task }),
    ];
    const { stdout } = await promisify(execFile)(process.execPath, options);
    return JSON.parse(stdout);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

describe.each(Object.entries(LOADS))('%s', (load, { title }) => {
  describe.each(SIZES)(`%d requests ${title}, again and again`, (count) => {
    let result;
    beforeAll(async () => {
      result = await run({ load, count });
    }, WATCHDOG_MS);

    test('leave nothing behind', () => {
      expect(result.left).toEqual(Array(ROUNDS).fill(NOTHING));
    });

    if (count < LARGEST) return;

    test('give their memory back', () => {
      // Room for as many requests stays: numbers, not objects.
      expect(result.heapAfter).toBeLessThan(result.heapAtOnce / 10);
    });

    // An abort is one task, by the standard, however many requests it ends.
    if (load === 'abort') return;

    test('let timers and I/O run', () => {
      expect(result.otherWork.timers).toBeGreaterThan(ROUNDS);
      expect(result.otherWork.reads).toBeGreaterThan(ROUNDS);
    });
  });
});
