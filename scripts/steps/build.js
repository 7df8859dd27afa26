'use strict';

// All that is built before the package is used or tested.

const { execFileSync } = require('node:child_process');
const path = require('node:path');
const { buildAddon } = require('./addon.js');

/** In a process of its own: esbuild's plugins are asynchronous. */
function bundle() {
  execFileSync(process.execPath, [path.join(__dirname, '..', 'bundle.js')], { stdio: 'inherit' });
}

function build() {
  buildAddon();
  bundle();
}

module.exports = { build, bundle };
