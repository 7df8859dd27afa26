'use strict';

// Finds the file of the native addon: one built on this machine, or a prebuilt one from the
// package.

const { existsSync } = require('node:fs');
const path = require('node:path');
const { BindingError } = require('./binding-error.js');
const { cLibrary } = require('./c-library.js');
const { BUNDLED, installedRoot, isPackage, packageRoot } = require('./package-files.js');

/**
 * @typedef {object} Machine
 * @property {string} platform
 * @property {string} arch
 * @property {() => 'glibc' | 'musl'} [library]
 */

/**
 * Returns the path of a prebuilt addon. Every path is written in full and outside of an arrow
 * function, so that tools that trace an application's files (ncc, Next, @vercel/nft) find it.
 * @param {string} target
 * @returns {string | undefined}
 */
function deliveredHere(target) {
  if (typeof __dirname !== 'string') return undefined;
  /** @type {Record<string, string>} */
  const files = {
    'linux-x64-glibc': `${__dirname}/../prebuilds/linux-x64-glibc/holdfast.node`,
    'linux-x64-musl': `${__dirname}/../prebuilds/linux-x64-musl/holdfast.node`,
    'linux-arm64-glibc': `${__dirname}/../prebuilds/linux-arm64-glibc/holdfast.node`,
    'linux-arm64-musl': `${__dirname}/../prebuilds/linux-arm64-musl/holdfast.node`,
  };
  return files[target] && path.normalize(files[target]);
}

/**
 * The files to try, in order. The local build goes first: a developer of this package is changing
 * it.
 * @param {string} root  folder of the package
 * @param {Machine} machine
 */
function candidates(root, { platform, arch, library = cLibrary }) {
  const built = path.join(root, 'build', 'Release', 'holdfast.node');
  if (existsSync(built)) return [built];
  const target = `${platform}-${arch}-${library()}`;
  const here = root === packageRoot() ? deliveredHere(target) : undefined;
  return [built, here ?? path.join(root, 'prebuilds', target, 'holdfast.node')];
}

/** @param {string} root  folder of the package */
function howToBuild(root) {
  const isCheckout = existsSync(path.join(root, 'binding.gyp'));
  return isCheckout ? `Run "npm run build" in ${root}.` : 'Run "npx holdfast-build".';
}

function isSingleExecutable() {
  try {
    return require('node:sea').isSea();
  } catch {
    return false; // a runtime without them
  }
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
  if (isSingleExecutable()) {
    return new BindingError(
      'ERR_HOLDFAST_BUNDLED',
      `${places} A single executable application has no native part inside: put the package's ` +
        'prebuilds/*/holdfast.node beside it, and set HOLDFAST_BINARY to its path.',
    );
  }
  return new BindingError(
    'ERR_HOLDFAST_BUNDLED',
    `${places} ${BUNDLED}, or set HOLDFAST_BINARY to the path of holdfast.node.`,
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
  if (installed === undefined || installed === root) throw missing(root, searched);
  return findAddon(installed, machine);
}

module.exports = { findAddon, howToBuild };
