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
 * The options of Node for a process that may not load or read an addon.
 * @param {string | undefined} code  of the error
 * @param {string} place  that is read
 * @returns {string | undefined}
 */
function howToAllow(code, place) {
  if (code !== 'ERR_DLOPEN_DISABLED' && code !== 'ERR_ACCESS_DENIED') return undefined;
  if (process.permission === undefined) return 'Start Node without --no-addons.';
  return (
    'The permission model of Node is on: start Node with --allow-addons and ' +
    `--allow-fs-read=${place}.`
  );
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
  let file = chosen === undefined ? `of ${root}` : path.resolve(chosen);
  try {
    if (chosen === undefined) file = findAddon(root, machine);
    return open(file);
  } catch (error) {
    if (error instanceof BindingError) throw error;
    const { message, code } = /** @type {NodeJS.ErrnoException} */ (error);
    const advice =
      howToAllow(code, chosen === undefined ? root : file) ??
      (chosen === undefined ? howToBuild(root) : 'HOLDFAST_BINARY names this file.');
    throw new BindingError(
      'ERR_HOLDFAST_NOT_LOADED',
      `the native addon ${file} cannot be loaded by Node ${process.version} on ` +
        `${machine.platform}-${machine.arch}: ${message.replace(/\.+$/, '')}. ${advice}`,
      { cause: error },
    );
  }
}

module.exports = { loadBinding, BindingError };
