'use strict';

// Puts the program of the broker into one file, dist/broker.js: each module that Node loads takes
// memory for as long as the broker runs.

const path = require('node:path');
const esbuild = require('esbuild');
const { ROOT } = require('./run.js');

/** @param {string} [root] of the package; dist/ exists */
function bundleBroker(root = ROOT) {
  esbuild.buildSync({
    bundle: true,
    entryPoints: [path.join(root, 'lib', 'backends', 'broker', 'server', 'main.js')],
    legalComments: 'inline',
    logLevel: 'warning',
    minify: true,
    outfile: path.join(root, 'dist', 'broker.js'),
    platform: 'node',
    target: 'node20',
  });
}

module.exports = { bundleBroker };
