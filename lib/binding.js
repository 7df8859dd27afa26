'use strict';

// Loads the native addon. The only module that opens a .node file.

const path = require('node:path');
const { findAddon, howToBuild } = require('./addon-file.js');
const { BindingError } = require('./binding-error.js');
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
 * Node caches the addon, so another call is cheap. This form of require is invisible to bundlers,
 * which would look for the file at build time.
 * @param {string} file
 */
function open(file) {
  const { createRequire } = require('node:module');
  return createRequire(file)(file);
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
