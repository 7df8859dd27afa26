'use strict';

// npm run build: the native addon, incrementally, and dist/: all that is built before the package
// is used or tested. With --dist, dist/ alone, as `npm pack` does.

const path = require('node:path');
const { headerPrefix } = require('../packaging/from-source/gyp.js');
const { ensurePackages, ensureToolchain } = require('./steps/toolchain.js');
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

/** Runs in a separate process: esbuild's plugins are asynchronous. */
function bundle() {
  ensurePackages();
  mustRun(process.execPath, [path.join(__dirname, 'steps', 'bundle.js')]);
}

function build() {
  buildAddon();
  bundle();
}

if (require.main === module) runProgram(process.argv.includes('--dist') ? bundle : build);

module.exports = { buildAddon, nodeHeaders, build, bundle };
