'use strict';

// Finds the folder of the package, also for code that a bundler has taken out of it, and the files
// that are started or read by their path.

const { existsSync, readFileSync } = require('node:fs');
const path = require('node:path');

const BUNDLED =
  'A bundler has taken the code out of its package: mark "holdfast" as external ' +
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

/**
 * Each in full and outside of an arrow function, so that tools that copy what an application needs
 * (ncc, Next, @vercel/nft) see it.
 * @param {string} name
 * @returns {string | undefined}
 */
function fileHere(name) {
  if (typeof __dirname !== 'string') return undefined;
  /** @type {Record<string, string>} */
  const files = {
    'backends/broker/server/main.js': `${__dirname}/../lib/backends/broker/server/main.js`,
    'backends/broker/sync-thread.js': `${__dirname}/../lib/backends/broker/sync-thread.js`,
    'backends/etcd/session-thread.js': `${__dirname}/../lib/backends/etcd/session-thread.js`,
    'backends/etcd/rpc.proto': `${__dirname}/../lib/backends/etcd/rpc.proto`,
  };
  return files[name] && path.normalize(bundledFile(name) ?? files[name]);
}

/**
 * A broker of one file has 5 MB less than one of thirty. Beside lib/ it may be of another day.
 * @param {string} name
 * @returns {string | undefined}
 */
function bundledFile(name) {
  if (name !== 'backends/broker/server/main.js') return undefined;
  const file = `${__dirname}/broker.js`;
  return path.basename(__dirname) === 'dist' && existsSync(file) ? file : undefined;
}

/**
 * The delivered package has the broker's modules in dist/broker.js only.
 * @param {string} root  of a package
 * @param {string} name  below lib/
 */
function fileOf(root, name) {
  const file = path.join(root, 'lib', name);
  const isBroker = name === 'backends/broker/server/main.js';
  return isBroker && !existsSync(file) ? path.join(root, 'dist', 'broker.js') : file;
}

/**
 * A file that runs on its own: a program, a thread, a description of a protocol.
 * @param {string} name  below lib/
 * @param {string} [root]  for tests
 * @returns {string}
 * @throws {Error} ERR_HOLDFAST_BUNDLED where there is none
 */
function packageFile(name, root = packageRoot()) {
  if (isPackage(root)) {
    const here = root === packageRoot() ? fileHere(name) : undefined;
    return here ?? fileOf(root, name);
  }
  const installed = installedRoot(root);
  if (installed !== undefined) return fileOf(installed, name);
  const error = new Error(`holdfast: the file lib/${name} is missing. ${BUNDLED}.`);
  throw Object.assign(error, { code: 'ERR_HOLDFAST_BUNDLED' });
}

module.exports = { BUNDLED, installedRoot, isPackage, packageFile, packageRoot };
