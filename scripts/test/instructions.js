'use strict';

// npm test -- instructions [--record]: compares the instructions of the native paths with the
// recorded counts, or records them.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { conclude, ONE_FAILED, ONE_PASSED, sum } = require('../steps/suites.js');
const { mustRun, ROOT, StepError } = require('../steps/run.js');
const { ensureToolchain } = require('../steps/toolchain.js');

const RECORD = path.join(ROOT, 'bench', 'instructions', 'recorded.json');
const PROGRAM = path.join(ROOT, 'build', 'cmake-instructions', 'instruction_paths');
const PATHS = ['exclusive', 'shared', 'hand-over'];
/** kRounds of bench/instructions/paths.cc */
const ROUNDS = 1000;
const TOLERANCE = 0.05;

/** @typedef {{ compiler: string, instructions: Record<string, number> }} Recorded */

function build() {
  ensureToolchain('cpp', 'instructions');
  mustRun('cmake', ['--preset', 'instructions', '--log-level=WARNING']);
  mustRun('cmake', ['--build', '--preset', 'instructions', '-j2']);
}

/**
 * @param {string} name of a path
 * @returns {number} instructions per round
 */
function count(name) {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-instructions-'));
  const options = ['--tool=callgrind', '--toggle-collect=*Counted*'];
  const files = [`--callgrind-out-file=${path.join(directory, 'callgrind.out')}`];
  try {
    const { status, stderr } = spawnSync(
      'valgrind',
      [...options, ...files, PROGRAM, directory, name],
      { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] },
    );
    const collected = /Collected : (\d+)/.exec(stderr ?? '')?.[1];
    if (status !== 0 || collected === undefined || Number(collected) === 0) {
      throw new StepError(`the instructions of "${name}" cannot be counted:\n${stderr}`);
    }
    return Number(collected) / ROUNDS;
  } finally {
    fs.rmSync(directory, { recursive: true });
  }
}

function compiler() {
  const cxx = process.env.CXX ?? 'c++';
  const { stdout } = spawnSync(cxx, ['--version'], { encoding: 'utf8' });
  return stdout.split('\n')[0];
}

/** @returns {Record<string, Recorded>} by architecture */
const readRecord = () => JSON.parse(fs.readFileSync(RECORD, 'utf8'));

/**
 * @param {string} name
 * @param {Recorded} recorded
 */
function checkPath(name, recorded) {
  const expected = recorded.instructions[name];
  const found = count(name);
  const change = found / expected - 1;
  const isFine = Math.abs(change) <= TOLERANCE;
  const percent = `${change < 0 ? '' : '+'}${(change * 100).toFixed(1)} %`;
  console.log(`${isFine ? 'ok  ' : 'FAIL'} ${name}: ${found} instructions, ${percent}`);
  return isFine ? ONE_PASSED : ONE_FAILED;
}

/** @returns {import('../steps/suites.js').Counts} One test for each path. */
function checkInstructions() {
  build();
  const recorded = readRecord()[os.arch()];
  if (recorded === undefined) {
    throw new StepError(`no counts for ${os.arch()} yet: npm test -- instructions --record`);
  }
  if (recorded.compiler !== compiler()) {
    // Another compiler writes other instructions: a difference would say nothing.
    console.log(`Not compared: recorded with ${recorded.compiler}; this is ${compiler()}.`);
    return { passed: 0, failed: 0, skipped: PATHS.length };
  }
  const counts = sum(PATHS.map((name) => checkPath(name, recorded)));
  if (counts.failed > 0) {
    console.error('An intended change is recorded by: npm test -- instructions --record');
  }
  return counts;
}

/** Makes what is counted now the recorded figures of this architecture. */
function recordInstructions() {
  build();
  const instructions = Object.fromEntries(PATHS.map((name) => [name, Math.round(count(name))]));
  const all = { ...readRecord(), [os.arch()]: { compiler: compiler(), instructions } };
  fs.writeFileSync(RECORD, `${JSON.stringify(all, undefined, 2)}\n`);
  console.log(instructions);
}

/** @param {string[]} args */
function main(args) {
  if (args.includes('--record')) recordInstructions();
  else conclude([{ title: 'Instruction counts', run: checkInstructions }]);
}

module.exports = { checkInstructions, main };
