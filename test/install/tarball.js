'use strict';

// The package as it would be published, in a folder outside the repository.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { bundle } = require('../../scripts/build.js');
const { ROOT } = require('../../scripts/steps/run.js');

/** The delivered binary for this machine, for example `linux-x64-glibc`. */
function ownTarget() {
  const { cLibrary } = require('../../lib/binding.js');
  return `${process.platform}-${process.arch}-${cLibrary()}`;
}

/** @param {string} folder @param {string} destination */
function pack(folder, destination) {
  const args = ['pack', folder, '--ignore-scripts', '--json', '--pack-destination', destination];
  const [{ filename }] = JSON.parse(execFileSync('npm', args, { encoding: 'utf8' }));
  return path.join(destination, filename);
}

/**
 * If `npm run prebuilds` did not run, the addon that was built here stands in for the delivered
 * one: how it is found and loaded is the same.
 * @param {string} unpacked
 */
function addOwnBinary(unpacked) {
  const file = path.join(unpacked, 'prebuilds', ownTarget(), 'holdfast.node');
  if (fs.existsSync(file)) return;
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const built = path.join(ROOT, 'build', 'Release', 'holdfast.node');
  execFileSync('strip', ['--strip-unneeded', '-o', file, built]);
}

/**
 * @returns {{ folder: string, file: string, unpacked: string, remove(): void }}
 */
function makeTarball() {
  bundle();
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'holdfast-tarball-'));
  fs.chmodSync(folder, 0o755);
  const first = pack(ROOT, folder);
  execFileSync('tar', ['-xzf', first, '-C', folder]);
  fs.rmSync(first);
  const unpacked = path.join(folder, 'package');
  addOwnBinary(unpacked);
  const file = pack(unpacked, folder);
  return {
    folder,
    file,
    unpacked,
    remove: () => fs.rmSync(folder, { recursive: true, force: true }),
  };
}

module.exports = { makeTarball, ownTarget };
