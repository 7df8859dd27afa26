'use strict';

const { existsSync, readFileSync, statSync } = require('node:fs');
const path = require('node:path');
const { keepName, sharedByCopies } = require('./copies.js');
const { WHY_MISSING, installedRoot, isPackage, packageRoot } = require('./package-files.js');

const FALLBACK_HINT =
  'HOLDFAST_URL=broker: gives locks without it, shared by all processes that use the same setting; ' +
  'HOLDFAST_FALLBACK=local gives locks that are shared within one thread only.';

/** The native part cannot be used. The message says why, and what to do. */
class BindingError extends Error {
  /**
   * @param {string} code `ERR_HOLDFAST_PLATFORM`, `ERR_HOLDFAST_RUNTIME`, `ERR_HOLDFAST_NOT_BUILT`,
   * `ERR_HOLDFAST_BUNDLED` or `ERR_HOLDFAST_NOT_LOADED`.
   * @param {string} message
   * @param {ErrorOptions} [options]
   */
  constructor(code, message, options) {
    super(`holdfast: ${message} ${FALLBACK_HINT}`, options);
    this.name = 'BindingError';
    this.code = code;
  }
}

keepName(BindingError, 'BindingError');

/**
 * The C library of this process, by the files that are mapped into it. A binary built for one C
 * library cannot be loaded beside the other. The file of glibc is libc.so.6, libc-2.33.so and the
 * like before version 2.34; musl is in its dynamic loader.
 * @param {string} [maps]  for tests
 * @returns {'glibc' | 'musl'}
 */
function cLibrary(maps = '/proc/self/maps') {
  try {
    const files = readFileSync(maps, 'utf8');
    return files.includes('/libc.so.6') || files.includes('/libc-2.') ? 'glibc' : 'musl';
  } catch {
    // No /proc, or no permission. Node's report has the version.
    const { readProcessReport } = require('./process-report.js');
    const { header } = readProcessReport() ?? {};
    return header === undefined || header.glibcVersionRuntime !== undefined ? 'glibc' : 'musl';
  }
}

// Finds the file of the native addon: one built on this machine, or a prebuilt one from the
// package.

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
  const reason = `the native addon is missing (searched: ${searched.join(', ')}).`;
  if (isPackage(root)) {
    return new BindingError('ERR_HOLDFAST_NOT_BUILT', `${reason} ${howToBuild(root)}`);
  }
  if (isSingleExecutable()) {
    return new BindingError(
      'ERR_HOLDFAST_BUNDLED',
      `${reason} A single executable application has no native part inside: put the package's ` +
        'prebuilds/*/holdfast.node beside it, and set HOLDFAST_BINARY to its path.',
    );
  }
  return new BindingError(
    'ERR_HOLDFAST_BUNDLED',
    `${reason} ${WHY_MISSING}, or set HOLDFAST_BINARY to the path of holdfast.node.`,
  );
}

/**
 * The local build goes first: a developer of this package is changing it.
 * @param {string} root  folder of the package
 * @param {Machine} machine
 * @returns {string}
 * @throws {BindingError} where there is none
 */
function findAddon(root, { platform, arch, library = cLibrary }) {
  const built = path.join(root, 'build', 'Release', 'holdfast.node');
  if (existsSync(built)) return built;
  const target = `${platform}-${arch}-${library()}`;
  const delivered =
    (root === packageRoot() ? deliveredHere(target) : undefined) ??
    path.join(root, 'prebuilds', target, 'holdfast.node');
  if (existsSync(delivered)) return delivered;
  const installed = isPackage(root) ? undefined : installedRoot(root);
  if (installed === undefined || installed === root) throw missing(root, [built, delivered]);
  return findAddon(installed, { platform, arch, library });
}

// Loads the native addon. The only module that opens a .node file.

const SUPPORTED_PLATFORMS = ['linux'];

/** Runtimes with Node-API but without Node's event loop: the addon would end their process. */
const OTHER_RUNTIMES = { bun: 'Bun', deno: 'Deno' };

/** The first libuv with `uv_metrics_info()`, which the native part calls: of Node 20.3. */
const MIN_LIBUV = [1, 45];

/**
 * Bun and Deno load the addon and then abort, in `dlopen` or at the first use of the event loop. So
 * does Node 20.2. JavaScript cannot catch an error there. So this throws first.
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
  const [major, minor] = (versions.uv ?? '').split('.').map(Number);
  if (major > MIN_LIBUV[0] || (major === MIN_LIBUV[0] && minor >= MIN_LIBUV[1])) return;
  throw new BindingError(
    'ERR_HOLDFAST_RUNTIME',
    `the native part needs Node.js 20.3 or newer, with libuv ${MIN_LIBUV.join('.')} or newer. ` +
      `This is Node.js ${versions.node} with libuv ${versions.uv}.`,
  );
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
 * The addons of this thread. Each addon in a process looks like a separate process to peers, so
 * copies of the package whose addons are the same share one.
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
 * @param {string} file  that is read
 * @returns {string | undefined}
 */
function howToAllow(code, file) {
  if (code !== 'ERR_DLOPEN_DISABLED' && code !== 'ERR_ACCESS_DENIED') return undefined;
  if (process.permission === undefined) return 'Start Node without --no-addons.';
  return (
    'The permission model of Node is on: start Node with --allow-addons and ' +
    `--allow-fs-read=${file}.`
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

module.exports = { BindingError, cLibrary, loadBinding };
