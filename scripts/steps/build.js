'use strict';

// All that is built before the package is used or tested.

const { buildAddon } = require('./addon.js');
const { writeBundle } = require('./bundle.js');

function build() {
  buildAddon();
  writeBundle();
}

module.exports = { build };
