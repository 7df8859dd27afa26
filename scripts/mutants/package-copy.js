'use strict';

// A copy of the package for planted bugs, and its tests: files of Jest. The addon is the one that
// was built for the original.

const { spawnSync } = require('node:child_process');
const { cpSync, existsSync, symlinkSync } = require('node:fs');
const path = require('node:path');
const { build } = require('../steps/build.js');
const { ROOT } = require('../steps/run.js');

const FOLDER = path.join(ROOT, 'build', 'package-mutants');
const PARTS = [
  'lib',
  'src',
  'scripts',
  'types',
  'test',
  'package.json',
  'binding.gyp',
  'jest.config.js',
];
const ADDON = path.join('build', 'Release', 'holdfast.node');
const JEST = path.join('node_modules', 'jest', 'bin', 'jest.js');
const MAX_MS = 300_000;

function prepare() {
  build();
  cpSync(path.join(ROOT, ADDON), path.join(FOLDER, ADDON));
  const packages = path.join(FOLDER, 'node_modules');
  if (!existsSync(packages)) symlinkSync(path.join(ROOT, 'node_modules'), packages);
}

/** @param {string} test */
function passes(test) {
  const { status } = spawnSync(process.execPath, [JEST, '--runTestsByPath', test], {
    cwd: FOLDER,
    stdio: 'ignore',
    timeout: MAX_MS,
  });
  return status === 0;
}

module.exports = { FOLDER, PARTS, passes, prepare };
