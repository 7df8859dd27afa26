'use strict';

// All that is built before the package is used or tested.

const { buildAddon } = require('./addon.js');
const { bundleCli } = require('./bundle-cli.js');
const { writeBundle } = require('./bundle.js');

function build() {
  buildAddon();
  writeBundle();
  bundleCli();
}

module.exports = { build };
