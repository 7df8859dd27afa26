'use strict';

// Loads the native addon. The only module that opens a .node file.

const { readFileSync, statSync } = require('node:fs');
const path = require('node:path');
const { findAddon, howToBuild } = require('./addon-file.js');
const { BindingError } = require('./binding-error.js');
const { sharedByCopies } = require('./copies.js');
const { packageRoot } = require('./package-files.js');

/** @typedef {import('./addon-file.js').Machine} Machine */

const SUPPORTED_PLATFORMS = ['linux'];

/** Runtimes with Node-API but without Node's event loop: the addon would end their process. */
const OTHER_RUNTIMES = { bun: 'Bun', deno: 'Deno' };

/**
 * Bun and Deno load the addon and then abort, in `dlopen` or at the first use of the event loop,
 * where JavaScript cannot catch an error. So this throws first.
 * @param {Record<string, string | undefined>} versions
 */
function refuseOtherRuntimes(versions) {
  for (const [key, name] of Object.entries(OTHER_RUNTIMES)) {
    if (versions[key] === undefined) continue;
    throw new BindingError(
      'ERR_HOLDFAST_RUNTIME',
      `${name} cannot load the native part, which needs the event loop of Node.js.`,
    );
  }
}

/** @param {Machine} machine */
function refuseOtherPlatforms({ platform, arch }) {
  if (SUPPORTED_PLATFORMS.includes(platform)) return;
  const supported = SUPPORTED_PLATFORMS.join(', ');
  throw new BindingError(
    'ERR_HOLDFAST_PLATFORM',
    `locks in shared memory do not work on ${platform}-${arch} (supported: ${supported}).`,
  );
}

/**
 * @typedef {object} LoadedAddon
 * @property {string} file
 * @property {string} version  of the file as it was loaded
 * @property {any} exports
 */

/**
 * The addons of this thread. To peers each one in a process is a process of its own, so copies of
 * the package whose addons are the same share one.
 * @type {LoadedAddon[]}
 */
const loaded = sharedByCopies('addons.1', () => []);

/**
 * Another one after the file was replaced.
 * @param {string} file
 */
function versionOf(file) {
  const { dev, ino, size, mtimeMs } = statSync(file);
  return [size, mtimeMs, dev, ino].join();
}

/**
 * @param {LoadedAddon} addon
 * @param {string} file
 * @param {string} version  of the file
 */
function hasSameContent(addon, file, version) {
  if (addon.version === version) return true;
  try {
    const isUnchanged = versionOf(addon.file) === addon.version;
    return isUnchanged && readFileSync(addon.file).equals(readFileSync(file));
  } catch {
    return false; // it was removed
  }
}

/**
 * Opens an addon, or returns the loaded one. Bundlers would search for the file of a require() at
 * build time, and createRequire() would load another millisecond of Node's own modules.
 * @param {string} file
 */
function open(file) {
  const version = versionOf(file);
  const known = loaded.find((addon) => hasSameContent(addon, file, version));
  if (known !== undefined) return known.exports;
  const addon = { file, version, exports: {} };
  process.dlopen(addon, file);
  loaded.push(addon);
  return addon.exports;
}

/**
 * Loads the native addon, or returns the loaded one. A failure is not cached: the next call
 * searches again. HOLDFAST_BINARY names a file to load in place of all candidates.
 * @param {object} [where] For tests.
 * @param {string} [where.root]
 * @param {Machine} [where.machine]
 * @param {Record<string, string | undefined>} [where.versions]
 * @returns {any} The exports of the addon.
 * @throws {BindingError}
 */
function loadBinding({
  root = packageRoot(),
  machine = process,
  versions = process.versions,
} = {}) {
  refuseOtherRuntimes(versions);
  refuseOtherPlatforms(machine);
  const chosen = process.env.HOLDFAST_BINARY || undefined;
  const file = chosen === undefined ? findAddon(root, machine) : path.resolve(chosen);
  try {
    return open(file);
  } catch (error) {
    const advice = chosen === undefined ? howToBuild(root) : 'HOLDFAST_BINARY names this file.';
    throw new BindingError(
      'ERR_HOLDFAST_NOT_LOADED',
      `the native addon ${file} cannot be loaded by Node ${process.version} on ` +
        `${machine.platform}-${machine.arch}: ${/** @type {Error} */ (error).message}. ${advice}`,
      { cause: error },
    );
  }
}

module.exports = { loadBinding, BindingError };
