'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { setTimeout: pause } = require('node:timers/promises');
const { lengthOf } = require('../support/lengths.js');
const { openLockManager } = require('../../lib/index.js');
const { randomFrom } = require('../support/process-random.js');
const { checkLog, lineOf } = require('./removed-table-stress-log.js');

// The lock table is removed, moved and replaced at random moments, while processes use it, come, go
// and are killed. HOLDFAST_SEED=<seed> repeats the draws, HOLDFAST_HARMS=<count> sets their number.
const SEED = Number(process.env.HOLDFAST_SEED ?? Math.floor(Math.random() * 2 ** 31));
const HARMS_DONE = lengthOf('HOLDFAST_HARMS', { whole: 15, part: 8 });
const PROCESSES = 4;
const PROGRAM = join(__dirname, 'removed-table-stress-program.js');
const LATEST_MS = 60;
const MS_PER_HARM = 5000; // a watchdog
const VERSION_AT = 8; // in the header, after the magic

const random = randomFrom(SEED);
const running = new Set();
let root;
let bucket;
beforeAll(() => {
  root = fs.mkdtempSync(join(tmpdir(), 'holdfast-'));
  const directory = join(root, 'locks');
  const folder = join(directory, 'default');
  bucket = { directory, folder, segment: join(folder, 'segment'), log: join(root, 'log') };
});
afterAll(() => {
  for (const child of running) child.kill('SIGKILL');
  fs.rmSync(root, { recursive: true, force: true });
});

let names = 0;
const elsewhere = () => join(root, `elsewhere-${(names += 1)}`);

/** A copy, changed or not, takes the place of the segment in one step. */
function replaceByCopy({ segment }, change = () => {}) {
  const copy = elsewhere();
  fs.copyFileSync(segment, copy);
  fs.chmodSync(copy, 0o600);
  const fd = fs.openSync(copy, 'r+');
  change(fd);
  fs.closeSync(fd);
  fs.renameSync(copy, segment);
}

const HARMS = [
  ({ segment }) => fs.rmSync(segment),
  ({ segment }) => fs.renameSync(segment, elsewhere()),
  ({ folder }) => fs.rmSync(folder, { recursive: true }),
  ({ folder }) => fs.renameSync(folder, elsewhere()),
  ({ directory }) => fs.rmSync(directory, { recursive: true }),
  ({ directory }) => fs.renameSync(directory, elsewhere()),
  (it) => replaceByCopy(it),
  // The table of another version, until it is replaced or taken away.
  async (it) => {
    replaceByCopy(it, (fd) => fs.writeSync(fd, Buffer.from([250]), 0, 1, VERSION_AT));
    await pause(random(LATEST_MS));
    fs.rmSync(it.segment);
  },
  async ({ directory, segment }) => {
    const locks = openLockManager({ directory: elsewhere(), capacity: 1 << 20 });
    await locks.query();
    const other = join(root, `elsewhere-${names}`, 'default', 'segment');
    if (fs.existsSync(directory)) fs.renameSync(other, segment);
    locks.close();
  },
];

/** The harm may be in place already, or no process has come since the last time. */
async function harm() {
  try {
    await HARMS[random(HARMS.length)](bucket);
  } catch (error) {
    if (!['ENOENT', 'ENOTEMPTY'].includes(error.code)) throw error;
  }
}

async function start() {
  const options = { directory: bucket.directory, log: bucket.log, seed: random(2 ** 30) };
  const child = fork(PROGRAM, [JSON.stringify(options)], { execArgv: [] });
  running.add(child);
  const ended = once(child, 'exit').then(() => running.delete(child));
  await Promise.race([once(child, 'message'), ended]);
  return child;
}

test(
  `of two holders at least one is notified (HOLDFAST_SEED=${SEED})`,
  async () => {
    const children = await Promise.all(Array.from({ length: PROCESSES }, start));
    for (let i = 0; i < HARMS_DONE; i += 1) {
      await pause(random(LATEST_MS)); // the moment is what is drawn
      await harm();
      if (random(6) !== 0) continue;
      const victim = random(PROCESSES);
      children[victim].kill('SIGKILL');
      children[victim] = await start();
    }
    const check = () => checkLog(fs.readFileSync(bucket.log, { encoding: 'utf8', flag: 'a+' }));
    while (check().sections <= HARMS_DONE / 4) await pause(100); // on a busy machine
    for (const child of children) {
      const ended = once(child, 'exit');
      child.send('stop');
      expect(await ended).toEqual([0, null]); // once all its requests are settled
    }
    const { sections, overlaps, violations } = check();
    console.log(`${sections} sections, ${overlaps} pairs of them at once, ${HARMS_DONE} harms`);
    expect(violations).toEqual([]);
  },
  60_000 + HARMS_DONE * MS_PER_HARM,
);

test('the checker finds two who were inside at once, unless one of them was notified', () => {
  const log = (end) =>
    [
      { who: '1', what: 'enter', section: 1 },
      { who: '2', what: 'enter', section: 1 },
      { who: '1', what: 'leaving', section: 1 },
      { who: '1', what: 'left', section: 1 },
      { who: '2', what: 'leaving', section: 1 },
      { who: '2', what: end, section: 1 },
    ]
      .map(lineOf)
      .join('');
  expect(checkLog(log('left')).violations).toEqual(['1 1 beside 2 1']);
  expect(checkLog(log('notified'))).toEqual({ sections: 2, overlaps: 1, violations: [] });
});
