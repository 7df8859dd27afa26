'use strict';

// Builds the native addon with node-gyp, incrementally.

const { existsSync } = require('node:fs');
const path = require('node:path');
const { ensurePackages } = require('./packages.js');
const { ensureToolchain } = require('./toolchain.js');
const { mustRun } = require('./run.js');

/** The headers installed beside this node make the build work without a network. */
function headerOptions() {
  const prefix = path.dirname(path.dirname(process.execPath));
  const isInstalled = existsSync(path.join(prefix, 'include', 'node', 'node_api.h'));
  return isInstalled ? [`--nodedir=${prefix}`] : [];
}

function buildAddon() {
  ensurePackages();
  ensureToolchain('addon');
  const nodeGyp = require.resolve('node-gyp/bin/node-gyp.js');
  const options = ['--jobs=2', '--loglevel=warn', ...headerOptions()];
  mustRun(process.execPath, [nodeGyp, 'configure', 'build', ...options]);
}

module.exports = { buildAddon };
