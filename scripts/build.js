'use strict';

// npm run build: the native addon, incrementally, and dist/: all that is built before the package
// is used or tested.

const path = require('node:path');
const { execFileSync } = require('node:child_process');
const { headerPrefix } = require('../packaging/from-source/gyp.js');
const { ensurePackages } = require('./steps/packages.js');
const { ensureToolchain } = require('./steps/toolchain.js');
const { mustRun, runProgram, StepError } = require('./steps/run.js');

function buildAddon() {
  ensurePackages();
  ensureToolchain('addon');
  const nodeGyp = require.resolve('node-gyp/bin/node-gyp.js');
  const prefix = headerPrefix();
  const headers = prefix === undefined ? [] : [`--nodedir=${prefix}`];
  const options = ['--jobs=2', '--loglevel=warn', ...headers];
  mustRun(process.execPath, [nodeGyp, 'configure', 'build', ...options]);
}

/** The folder of node_api.h and uv.h. */
function nodeHeaders() {
  const prefix = headerPrefix();
  if (prefix === undefined) {
    throw new StepError(`there are no headers of Node beside ${process.execPath}`);
  }
  return path.join(prefix, 'include', 'node');
}

// All that is built before the package is used or tested.

/** Runs in a separate process: esbuild's plugins are asynchronous. */
function bundle() {
  execFileSync(process.execPath, [path.join(__dirname, 'bundle.js')], { stdio: 'inherit' });
}

function build() {
  buildAddon();
  bundle();
}

if (require.main === module) runProgram(build);

module.exports = { buildAddon, nodeHeaders, build, bundle };
