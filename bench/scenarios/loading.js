'use strict';

const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { makeDirectory } = require('../harness/bucket.js');
const { quantile } = require('../harness/statistics.js');

const STARTS = 10;
/** What the name of the package leads to, for both module systems. */
const LIBRARY = path.join(__dirname, '..', '..', 'dist', 'index.js');
const MODULE = pathToFileURL(path.join(__dirname, '..', '..', 'dist', 'index.mjs')).href;

/** The time that a program says it took, and that of its whole process. */
function startOnce(source, directory) {
  const start = performance.now();
  const options = { encoding: 'utf8', env: { ...process.env, HOLDFAST_DIR: directory } };
  const output = execFileSync(process.execPath, ['-e', source], options);
  return { inside: Number(output), process: performance.now() - start };
}

/** @param {string} work @returns {import('../harness/scenarios.js').Contender} */
const contender = (work) => ({
  measure() {
    const directory = makeDirectory();
    const source = `
      (async () => {
        const start = performance.now();
        ${work}
        console.log(performance.now() - start);
      })();`;
    startOnce(source, directory); // makes the bucket, as the first process of all does
    const starts = Array.from({ length: STARTS }, () => startOnce(source, directory));
    return {
      'inside ms': quantile(
        starts.map(({ inside }) => inside),
        0.5,
      ),
      'process ms': quantile(
        starts.map(({ process: whole }) => whole),
        0.5,
      ),
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
    'import holdfast, first lock': contender(importIt + lock),
  },
  goals: [{ of: 'require(holdfast), first lock', figure: 'inside ms', atMost: 5 }],
  chart: { figure: 'inside ms', title: 'Loading and first lock, ms' },
};
