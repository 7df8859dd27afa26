'use strict';

// Builds the native addon with node-gyp, incrementally.

const { existsSync } = require('node:fs');
const path = require('node:path');
const { ensurePackages } = require('./packages.js');
const { ensureToolchain } = require('./toolchain.js');
const { StepError, mustRun } = require('./run.js');

/** The headers installed beside this node make builds work without a network. */
function headerPrefix() {
  const prefix = path.dirname(path.dirname(process.execPath));
  return existsSync(path.join(prefix, 'include', 'node', 'node_api.h')) ? prefix : undefined;
}

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

module.exports = { buildAddon, headerPrefix, nodeHeaders };
