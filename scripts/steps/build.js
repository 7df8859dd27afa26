'use strict';

// All that is built before the package is used or tested.

const { buildAddon } = require('./addon.js');
const { ensurePackages } = require('./packages.js');

/** The files of dist/. What writes them uses npm packages, so it is loaded once these are there. */
function bundle() {
  ensurePackages();
  require('./bundle.js').writeBundle();
  require('./bundle-cli.js').bundleCli();
  require('./bundle-broker.js').bundleBroker();
}

function build() {
  buildAddon();
  bundle();
}

module.exports = { build, bundle };
