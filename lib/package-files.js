'use strict';

// Finds the folder of the package, and the files that are started or read by their path. Works also
// for code that a bundler has taken out of the package.

const { existsSync, readFileSync } = require('node:fs');
const path = require('node:path');
const { BUILD } = require('./build-id.js');

/** The paths in a bundle may be made up, so the code cannot distinguish the two. */
const WHY_MISSING =
  'Either the package was removed or replaced on disk while this program runs: restart the ' +
  'program. Or a bundler has taken the code out of its package: mark "holdfast" as external ' +
  '(esbuild: --external:holdfast; Next: serverExternalPackages)';

/** The folder of the package; in a bundle of an application, some folder of the application. */
function packageRoot() {
  // Bundlers that write ES modules leave no __dirname.
  return typeof __dirname === 'string' ? path.join(__dirname, '..') : process.cwd();
}

/** Whether it is this package's folder, and not one of an application. @param {string} root */
function isPackage(root) {
  try {
    return JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')).name === 'holdfast';
  } catch {
    return false; // there is no package
  }
}

/**
 * The folder of the installed package of this version, for code that was bundled away from it.
 * @param {string} from  a folder of the application
 * @returns {string | undefined}
 */
function installedRoot(from) {
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

/** The files that run or are read on their own, in dist/ and below lib/. */
const FILES = {
  'broker.js': 'backends/broker/server/main.js',
  'sync-thread.js': 'backends/broker/sync-thread.js',
  'session-thread.js': 'backends/remote/session-thread.js',
  'rpc.proto': 'backends/etcd/rpc.proto',
};

/** @typedef {keyof typeof FILES} PackageFile */

/**
 * Each in full and outside of an arrow function, so that tools that copy what an application needs
 * (ncc, Next, @vercel/nft) find it.
 * @param {PackageFile} name
 * @returns {string | undefined}
 */
function fileHere(name) {
  if (typeof __dirname !== 'string') return undefined;
  if (BUILD === 'source') return path.join(__dirname, FILES[name]);
  /** @type {Record<PackageFile, string>} */
  const files = {
    'broker.js': `${__dirname}/broker.js`,
    'sync-thread.js': `${__dirname}/sync-thread.js`,
    'session-thread.js': `${__dirname}/session-thread.js`,
    'rpc.proto': `${__dirname}/rpc.proto`,
  };
  return path.normalize(files[name]);
}

/**
 * A file that runs on its own: a program, a thread, a description of a protocol.
 * @param {PackageFile} name
 * @param {string} [root]  for tests
 * @returns {string}
 * @throws {Error} ERR_HOLDFAST_BUNDLED if there is none
 */
function packageFile(name, root = packageRoot()) {
  const here = root === packageRoot() ? fileHere(name) : undefined;
  const installed = isPackage(root) ? root : installedRoot(root);
  const file =
    installed === root && here !== undefined ? here : path.join(installed ?? root, 'dist', name);
  if (installed !== undefined && existsSync(file)) return file;
  const error = new Error(`holdfast: the file dist/${name} is missing. ${WHY_MISSING}.`);
  throw Object.assign(error, { code: 'ERR_HOLDFAST_BUNDLED' });
}

module.exports = { WHY_MISSING, installedRoot, isPackage, packageFile, packageRoot };
