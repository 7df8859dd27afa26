'use strict';

// Puts the command line tool, with the packages that it is made of, into dist/cli.js, its page into
// dist/dashboard/, and its manual page beside them. So the package needs no other package when it
// runs.

const { chmodSync, cpSync, mkdirSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const esbuild = require('esbuild');
const { manualPage } = require('./manual-page.js');
const { ROOT } = require('./run.js');

/** What all of them have in common. */
const OPTIONS = /** @type {const} */ ({
  bundle: true,
  legalComments: 'inline',
  logLevel: 'warning',
  minify: true,
});

/** @param {string} lib @param {string} dist */
function bundleProgram(lib, dist) {
  const outfile = path.join(dist, 'cli.js');
  esbuild.buildSync({
    ...OPTIONS,
    entryPoints: [path.join(lib, 'cli', 'holdfast.js')],
    outfile,
    platform: 'node',
    target: 'node20',
    // The package itself: one instance of it, and of its native part, for the whole process.
    external: ['holdfast'],
  });
  chmodSync(outfile, 0o755);
}

/** @param {string} lib @param {string} dist */
function bundlePage(lib, dist) {
  const page = path.join(lib, 'cli', 'dashboard', 'page');
  const target = path.join(dist, 'dashboard');
  mkdirSync(target, { recursive: true });
  esbuild.buildSync({
    ...OPTIONS,
    entryPoints: [path.join(page, 'page.mjs')],
    outfile: path.join(target, 'page.js'),
    format: 'iife',
    platform: 'browser',
    target: ['chrome110', 'firefox115', 'safari16.4'],
  });
  for (const file of ['index.html', 'icon.svg'])
    cpSync(path.join(page, file), path.join(target, file));
}

/** @param {string} [root] of the package; dist/ exists */
function bundleCli(root = ROOT) {
  const [lib, dist] = [path.join(root, 'lib'), path.join(root, 'dist')];
  bundleProgram(lib, dist);
  bundlePage(lib, dist);
  writeFileSync(path.join(dist, 'holdfast.1'), manualPage());
}

module.exports = { bundleCli };
