'use strict';

const { execFileSync } = require('node:child_process');
const { writeFileSync } = require('node:fs');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { makeDirectory } = require('../harness/bucket.js');
const { quantile } = require('../harness/statistics.js');

const STARTS = 10;
/** The file that the name of the package leads to, for both module systems. */
const LIBRARY = path.join(__dirname, '..', '..', 'dist', 'index.js');
const MODULE = pathToFileURL(path.join(__dirname, '..', '..', 'dist', 'index.mjs')).href;

/**
 * The figures that a program prints: the time and the processor time of `work`, and the time from
 * the start of Node to its end.
 * @param {string} program
 * @param {string} directory
 */
function startOnce(program, directory) {
  const start = performance.now();
  const options = { encoding: 'utf8', env: { ...process.env, HOLDFAST_DIR: directory } };
  const output = execFileSync(process.execPath, [program], options);
  return { ...JSON.parse(output), process: performance.now() - start };
}

/** @param {string} directory @param {string} name @param {string} work */
function writeProgram(directory, name, work) {
  const program = path.join(directory, name);
  const source = `
    const start = performance.now();
    const used = process.cpuUsage();
    const work = async () => { ${work} };
    work().then(() => {
      const end = performance.now();
      const { user, system } = process.cpuUsage(used);
      const processor = (user + system) / 1000;
      console.log(JSON.stringify({ inside: end - start, end, processor }));
    });`;
  writeFileSync(program, source);
  return program;
}

/**
 * The contender: each start of the program is compared with a start of an empty program of the same
 * module system.
 * @param {string} work
 * @param {'cjs' | 'mjs'} [system]
 * @returns {import('../harness/scenarios.js').Contender}
 */
const contender = (work, system = 'cjs') => ({
  measure() {
    const directory = makeDirectory();
    const program = writeProgram(directory, `program.${system}`, work);
    const plain = writeProgram(directory, `plain.${system}`, '');
    startOnce(program, directory); // makes the bucket, as the first process of all does
    const starts = Array.from({ length: STARTS }, () => {
      const base = startOnce(plain, directory);
      const own = startOnce(program, directory);
      return { ...own, over: own.end - base.end };
    });
    const middle = (/** @type {'inside' | 'over' | 'processor' | 'process'} */ figure) =>
      quantile(
        starts.map((start) => start[figure]),
        0.5,
      );
    return {
      'inside ms': middle('inside'),
      'over plain ms': middle('over'),
      'processor inside ms': middle('processor'),
      'process ms': middle('process'),
    };
  },
});

const load = `const { locks } = require(${JSON.stringify(LIBRARY)});`;
const importIt = `const { locks } = await import(${JSON.stringify(MODULE)});`;
const lock = "await locks.request('a', () => {});";

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 11,
  title: 'Loading the package, and the first lock',
  rounds: 3,
  contenders: {
    'plain Node': contender(''),
    'require(holdfast)': contender(load),
    'require(holdfast), first lock': contender(load + lock),
    'import holdfast, first lock': contender(importIt + lock, 'mjs'),
  },
  goals: [
    { of: 'require(holdfast), first lock', figure: 'inside ms', atMost: 5 },
    { of: 'require(holdfast)', figure: 'inside ms', atMost: 3 },
    {
      of: 'import holdfast, first lock',
      per: 'require(holdfast), first lock',
      figure: 'inside ms',
      atMost: 1.33, // 12 ms where require takes 9
    },
  ],
  chart: { figure: 'inside ms', title: 'Loading and first lock, ms' },
};
