'use strict';

// Finds and loads the native addon. The only module that knows where a .node file may be.

const { existsSync } = require('node:fs');
const path = require('node:path');

const SUPPORTED_PLATFORMS = ['linux'];
const FALLBACK_HINT =
  'HOLDFAST_URL=broker: gives locks without it, shared by all processes that use the same setting; ' +
  'HOLDFAST_FALLBACK=local gives locks that are shared within one thread only.';

/** Runtimes that have Node's API and not its event loop: the addon ends their process. */
const OTHER_RUNTIMES = { bun: 'Bun', deno: 'Deno' };

/** The native part cannot be used here; the message says why and what to do. */
class BindingError extends Error {
  /**
   * @param {string} code `ERR_HOLDFAST_PLATFORM`, `ERR_HOLDFAST_RUNTIME`, `ERR_HOLDFAST_NOT_BUILT`
   * or `ERR_HOLDFAST_NOT_LOADED`.
   * @param {string} message
   * @param {ErrorOptions} [options]
   */
  constructor(code, message, options) {
    super(`holdfast: ${message} ${FALLBACK_HINT}`, options);
    this.name = 'BindingError';
    this.code = code;
  }
}

/**
 * Where the addon may be, in the order of the search: built here, or delivered with the package.
 * @param {string} root Folder of the package.
 * @param {string} target `<platform>-<arch>`.
 */
function candidates(root, target) {
  return [
    path.join(root, 'build', 'Release', 'holdfast.node'),
    path.join(root, 'prebuilds', target, 'holdfast.node'),
  ];
}

/**
 * Bun and Deno accept the addon and then end the process, in `dlopen` or at the first use of the
 * event loop, where nothing can be caught. The addon is refused before.
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

/**
 * Loads the native addon; `require` keeps it, so asking again is cheap. A failure is not kept: the
 * next call looks again.
 * @param {object} [where] For tests.
 * @param {string} [where.root]
 * @param {string} [where.platform]
 * @param {string} [where.arch]
 * @param {Record<string, string | undefined>} [where.versions]
 * @returns {any} The exports of the addon.
 * @throws {BindingError}
 */
function loadBinding({
  root = path.dirname(__dirname),
  platform = process.platform,
  arch = process.arch,
  versions = process.versions,
} = {}) {
  refuseOtherRuntimes(versions);
  const target = `${platform}-${arch}`;
  if (!SUPPORTED_PLATFORMS.includes(platform)) {
    const supported = SUPPORTED_PLATFORMS.join(', ');
    throw new BindingError(
      'ERR_HOLDFAST_PLATFORM',
      `locks in shared memory do not work on ${target} (supported: ${supported}).`,
    );
  }
  const searched = candidates(root, target);
  const found = searched.find((file) => existsSync(file));
  if (found === undefined) {
    throw new BindingError(
      'ERR_HOLDFAST_NOT_BUILT',
      `the native addon is missing (searched: ${searched.join(', ')}). Run "npm run build" in ` +
        `${root}; it needs Python 3, make and a C++20 compiler.`,
    );
  }
  try {
    return require(found);
  } catch (error) {
    throw new BindingError(
      'ERR_HOLDFAST_NOT_LOADED',
      `the native addon ${found} cannot be loaded by Node ${process.version} on ${target}: ` +
        `${/** @type {Error} */ (error).message}. Run "npm run build" in ${root}.`,
      { cause: error },
    );
  }
}

module.exports = { loadBinding, BindingError };
