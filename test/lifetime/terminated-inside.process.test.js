'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { mkdtempSync, readdirSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { lengthOf } = require('../support/lengths.js');
const { openLockManager } = require('../../lib/index.js');
const { KINDS } = require('./terminated-inside-program.js');

// worker.terminate() stops JavaScript at any instruction, and each call of Node-API may fail from
// then on. HOLDFAST_TERMINATIONS=<count> makes it longer, HOLDFAST_SEED=<seed> repeats the moments.
const TERMINATIONS = lengthOf('HOLDFAST_TERMINATIONS', { whole: 16, part: 8 });
const SEED = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const MS_PER_WORKER = 2_000; // a watchdog
const PROGRAM = join(__dirname, 'terminated-inside-program.js');

let directory;
let locks;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
  locks = openLockManager({ directory });
});
afterEach(() => {
  locks.close();
  rmSync(directory, { recursive: true, force: true });
});

/** Runs the program; resolves with its output, and how it ends. */
async function run(kind) {
  const options = { kind, count: TERMINATIONS, directory, seed: SEED };
  const child = fork(PROGRAM, [JSON.stringify(options)], { execArgv: [] });
  let report;
  child.on('message', (message) => (report = message));
  const [code, signal] = await once(child, 'exit');
  return { code, signal, report };
}

test.each(KINDS)(
  `%s: of ${TERMINATIONS} workers ended inside nothing is left (HOLDFAST_SEED=${SEED})`,
  async (kind) => {
    await locks.query(); // opens the bucket, and keeps it
    const { code, signal, report } = await run(kind);
    expect({ code, signal, errors: report?.errors }).toEqual({ code: 0, signal: null, errors: [] });
    expect(report.after).toEqual(report.before);
    expect(report.after.segments).toBe(0);
    expect(await locks.query()).toEqual({ held: [], pending: [] });
    // The segment, and the doorbell and the lifeline of this process.
    expect(readdirSync(join(directory, 'default'))).toHaveLength(3);
  },
  60_000 + TERMINATIONS * MS_PER_WORKER,
);
