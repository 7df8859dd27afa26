'use strict';

// The npm packages that the build and the tests need.

const { existsSync, readFileSync } = require('node:fs');
const path = require('node:path');
const { ROOT, mustRun } = require('./run.js');

/** @typedef {Record<string, { version?: string, optional?: boolean, link?: boolean }>} Entries */

/**
 * @param {string} file
 * @returns {Entries}
 */
const entriesOf = (file) => JSON.parse(readFileSync(file, 'utf8')).packages;

/**
 * Whether node_modules holds what the lock file says. Packages for other platforms are optional.
 * @param {string} lockFile
 * @param {string} installedFile npm's own record inside node_modules.
 */
function isUpToDate(lockFile, installedFile) {
  if (!existsSync(installedFile)) return false;
  const installed = entriesOf(installedFile);
  return Object.entries(entriesOf(lockFile)).every(([location, wanted]) => {
    if (location === '') return true; // the project itself
    const present = installed[location];
    return present === undefined ? wanted.optional === true : present.version === wanted.version;
  });
}

/** Installs the packages of the lock file unless they are there. No install script is run. */
function ensurePackages() {
  const lockFile = path.join(ROOT, 'package-lock.json');
  const quiet = ['--include=dev', '--ignore-scripts', '--no-audit', '--no-fund'];
  if (!existsSync(lockFile)) {
    // A copy installed by npm comes without the lock file.
    if (!existsSync(path.join(ROOT, 'node_modules'))) {
      mustRun('npm', ['install', '--no-save', '--no-package-lock', ...quiet]);
    }
  } else if (!isUpToDate(lockFile, path.join(ROOT, 'node_modules', '.package-lock.json'))) {
    mustRun('npm', ['ci', ...quiet]);
  }
}

/**
 * Installs the packages of a folder that has its own lock file, unless they are there.
 * @param {string} folder
 */
function installIn(folder) {
  const installed = path.join(folder, 'node_modules', '.package-lock.json');
  if (isUpToDate(path.join(folder, 'package-lock.json'), installed)) return;
  mustRun('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder });
}

module.exports = { ensurePackages, installIn, isUpToDate };
