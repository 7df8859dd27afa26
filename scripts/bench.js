'use strict';

// npm run bench [-- --rounds N --json scenario…]: builds the addon, installs what it is compared
// with, measures, and writes bench/RESULTS.md with its charts, and its figures in the README.
// `--group etcd` measures the scenarios of a cluster. `--compare REV` measures
// another revision and this tree in turns, and writes nothing.

const path = require('node:path');
const { spawnSync } = require('node:child_process');
const { ensureBenchPackages, ensureServers } = require('./steps/bench-packages.js');
const { putFigures } = require('./steps/figures.js');
const { buildRevision, commitOf } = require('./steps/other-revision.js');
const { ROOT, StepError } = require('./steps/run.js');

/** What is built and installed is told to the person: standard output has the results alone. */
function buildThis() {
  const script = path.join(__dirname, 'build.js');
  const build = spawnSync(process.execPath, [script], {
    stdio: ['ignore', process.stderr, process.stderr],
  });
  if (build.status !== 0) throw new StepError('the addon cannot be built');
  ensureBenchPackages();
}

/** @param {string} program @param {string[]} args */
function runBench(program, args) {
  const all = [path.join(ROOT, 'bench', program), ...args];
  return spawnSync(process.execPath, all, { stdio: 'inherit' }).status ?? 1;
}

try {
  const args = process.argv.slice(2);
  const at = args.findIndex((arg) => /^--compare(=|$)/.test(arg));
  if (at === -1) {
    buildThis();
    ensureServers(args.includes('etcd'));
    process.exitCode = runBench('run.js', args);
    if (process.exitCode === 0) putFigures();
  } else {
    const [option, next] = args.splice(at, args[at].includes('=') ? 1 : 2);
    const revision = option.includes('=') ? option.slice(option.indexOf('=') + 1) : next;
    if (!revision) throw new StepError('--compare must name a revision: --compare main');
    commitOf(revision);
    buildThis();
    process.exitCode = runBench('compare.js', ['--before', buildRevision(revision), ...args]);
  }
} catch (error) {
  if (!(error instanceof StepError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
