'use strict';

const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { makeDirectory } = require('../harness/bucket.js');
const { quantile } = require('../harness/statistics.js');

const STARTS = 15;
const TOOL = path.join(__dirname, '..', '..', 'dist', 'cli.js');
/** Starts `true` as `exec` does, without a lock. */
const START_TRUE = `
  const { spawn } = require('node:child_process');
  spawn('true', { stdio: 'inherit' }).on('exit', (status) => (process.exitCode = status));`;

/**
 * @param {(directory: string) => string[]} wordsOf
 * @returns {import('../harness/scenarios.js').Contender}
 */
const contender = (wordsOf) => ({
  whyNot: () => spawnSync(wordsOf('/')[0], ['--version']).error?.message,
  measure() {
    const directory = makeDirectory();
    const [file, ...args] = wordsOf(directory);
    const env = { ...process.env, HOLDFAST_DIR: path.join(directory, 'locks') };
    const times = [];
    while (times.length <= STARTS) {
      const start = performance.now();
      const { status, stderr } = spawnSync(file, args, { env, encoding: 'utf8' });
      if (status !== 0) throw new Error(stderr);
      times.push(performance.now() - start);
    }
    return { ms: quantile(times.slice(1), 0.5) }; // the first one makes the bucket
  },
});

/** @type {import('../harness/scenarios.js').Scenario} */
module.exports = {
  goal: 11,
  title: 'The command `true` under a lock, from the start of the tool to its end',
  rounds: 3,
  contenders: {
    'holdfast exec': contender(() => [process.execPath, TOOL, 'exec', 'ledger', '--', 'true']),
    'Node, an empty program': contender(() => [process.execPath, '-e', '0']),
    'Node, which starts `true`': contender(() => [process.execPath, '-e', START_TRUE]),
    'flock(1)': contender((directory) => ['flock', path.join(directory, 'file'), 'true']),
  },
  goals: [{ of: 'holdfast exec', per: 'Node, an empty program', figure: 'ms', atMost: 1.3 }],
};
