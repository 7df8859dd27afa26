'use strict';

// npm run demo: installs and builds what is missing, then runs the demonstration. Arguments go to
// the demonstration; with --json its standard output holds nothing but the result.

const path = require('node:path');
const { spawnSync } = require('node:child_process');
const { ROOT } = require('./steps/run.js');

// The output of the build belongs to the person, not into the result.
const build = spawnSync(process.execPath, [path.join(__dirname, 'build.js')], {
  stdio: ['ignore', process.stderr, process.stderr],
});
if (build.status === 0) {
  const main = path.join(ROOT, 'demo', 'main.js');
  const demo = spawnSync(process.execPath, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  process.exitCode = demo.status ?? 1;
} else {
  process.exitCode = 1;
}
