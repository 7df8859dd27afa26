'use strict';

const { fork, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { makeDirectory } = require('../harness/bucket.js');
const { now } = require('../harness/section-log.js');

const PROGRAMS = path.join(__dirname, '..', 'programs');
const DURATION_MS = 1_000;
const HEAD_START_NS = 50e6;
const FIGURE = 'hand-overs/s';

/** Two processes that block until they have the lock, and ask again after giving it back. */
async function measureHoldfast() {
  const directory = makeDirectory();
  const start = () => fork(path.join(PROGRAMS, 'sync-asker.js'), [directory, `${DURATION_MS}`]);
  const children = [start(), start()];
  await Promise.all(children.map((child) => once(child, 'message')));
  const results = children.map((child) => once(child, 'message'));
  const begin = now() + HEAD_START_NS;
  for (const child of children) child.send(begin);
  const sums = { grants: 0, repeats: 0 };
  for (const [{ grants, repeats }] of await Promise.all(results)) {
    sums.grants += grants;
    sums.repeats += repeats;
  }
  return { [FIGURE]: (sums.grants - sums.repeats) / (DURATION_MS / 1000) };
}

/** @param {'asleep' | 'awake'} how */
const pingPong = (how) => ({
  whyNot: () => (spawnSync('c++', ['--version']).status === 0 ? undefined : 'no C++ compiler'),
  measure() {
    const program = path.join(makeDirectory(), 'ping-pong');
    const source = path.join(PROGRAMS, 'futex-ping-pong.cc');
    const built = spawnSync('c++', ['-std=c++20', '-O2', '-o', program, source]);
    if (built.status !== 0) throw new Error(`${built.stderr}`);
    return { [FIGURE]: JSON.parse(`${spawnSync(program).stdout}`)[how] };
  },
});

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 7,
  title: 'Hand-over between two processes that block with requestSync()',
  note: 'The ping-pongs are programs in C++ that share a word, without queue, names and deaths.',
  rounds: 3,
  contenders: {
    'requestSync()': { measure: measureHoldfast },
    'futex ping-pong': pingPong('asleep'),
    'spinning ping-pong': pingPong('awake'),
  },
  goals: [
    { of: 'requestSync()', per: 'futex ping-pong', figure: FIGURE, atLeast: 1 / 1.3 },
    { of: 'requestSync()', per: 'spinning ping-pong', figure: FIGURE, atLeast: 1 / 2 },
  ],
  chart: { figure: FIGURE, title: 'Blocking hand-overs per second, two processes' },
};
