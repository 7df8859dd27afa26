'use strict';

// npm run bench [-- --rounds N --json scenario…]: builds the addon, installs what it is compared
// with, measures, and writes bench/RESULTS.md with its charts, and its figures in the
// README.

const path = require('node:path');
const { spawnSync } = require('node:child_process');
const { ensureBenchPackages, ensureServers } = require('./steps/bench-packages.js');
const { putFigures } = require('./steps/figures.js');
const { ROOT, StepError } = require('./steps/run.js');

/** What is built and installed is told to the person: standard output has the results alone. */
function prepare() {
  const script = path.join(__dirname, 'build.js');
  const build = spawnSync(process.execPath, [script], {
    stdio: ['ignore', process.stderr, process.stderr],
  });
  if (build.status !== 0) throw new StepError('the addon cannot be built');
  ensureBenchPackages();
  ensureServers();
}

try {
  prepare();
  const bench = path.join(ROOT, 'bench', 'run.js');
  const args = [bench, ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1;
  if (process.exitCode === 0) putFigures();
} catch (error) {
  if (!(error instanceof StepError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
