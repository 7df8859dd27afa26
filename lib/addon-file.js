'use strict';

// Finds the file of the native addon: the one that was built here, or one of those that the package
// is delivered with.

const { existsSync } = require('node:fs');
const path = require('node:path');
const { BindingError } = require('./binding-error.js');
const { cLibrary } = require('./c-library.js');

/**
 * @typedef {object} Machine
 * @property {string} platform
 * @property {string} arch
 * @property {() => 'glibc' | 'musl'} [library]
 */

/** The folder of the package; in a bundle of an application, some folder of the application. */
function packageRoot() {
  // Bundlers that write ES modules leave no __dirname.
  return typeof __dirname === 'string' ? path.join(__dirname, '..') : process.cwd();
}

/** @param {string} root */
const isPackage = (root) => existsSync(path.join(root, 'types', 'index.d.ts'));

/**
 * In the order of the search. The local one goes first: it is the one that somebody works on.
 * @param {string} root  folder of the package
 * @param {Machine} machine
 */
function candidates(root, { platform, arch, library = cLibrary }) {
  const built = path.join(root, 'build', 'Release', 'holdfast.node');
  if (existsSync(built)) return [built];
  const target = `${platform}-${arch}-${library()}`;
  return [built, path.join(root, 'prebuilds', target, 'holdfast.node')];
}

/**
 * The folder of the installed package of this version, for code that was bundled away from it.
 * @param {string} from  a folder of the application
 * @returns {string | undefined}
 */
function installedRoot(from) {
  const { readFileSync } = require('node:fs');
  const { createRequire } = require('node:module');
  const { name, version } = require('../package.json');
  for (const base of [from, path.dirname(process.argv[1] ?? '.'), process.cwd()]) {
    try {
      const manifest = createRequire(path.join(base, 'any.js')).resolve(`${name}/package.json`);
      if (JSON.parse(readFileSync(manifest, 'utf8')).version === version) {
        return path.dirname(manifest);
      }
    } catch {
      continue; // not installed for that folder
    }
  }
  return undefined;
}

/** @param {string} root  folder of the package */
function howToBuild(root) {
  const isCheckout = existsSync(path.join(root, 'binding.gyp'));
  return isCheckout ? `Run "npm run build" in ${root}.` : 'Run "npx holdfast-build".';
}

/**
 * @param {string} root
 * @param {string[]} searched
 */
function missing(root, searched) {
  const places = `the native addon is missing (searched: ${searched.join(', ')}).`;
  if (isPackage(root)) {
    return new BindingError('ERR_HOLDFAST_NOT_BUILT', `${places} ${howToBuild(root)}`);
  }
  return new BindingError(
    'ERR_HOLDFAST_BUNDLED',
    `${places} A bundler has taken the code out of its package: mark "holdfast" as external ` +
      '(esbuild: --external:holdfast), or set HOLDFAST_BINARY to the path of holdfast.node.',
  );
}

/**
 * @param {string} root  folder of the package
 * @param {Machine} machine
 * @returns {string}
 * @throws {BindingError} where there is none
 */
function findAddon(root, machine) {
  const searched = candidates(root, machine);
  const found = searched.find((file) => existsSync(file));
  if (found !== undefined) return found;
  const installed = isPackage(root) ? undefined : installedRoot(root);
  if (installed === undefined) throw missing(root, searched);
  return findAddon(installed, machine);
}

module.exports = { findAddon, howToBuild, packageRoot };
