'use strict';

// The other runtimes that the tests run on, from npm: their platform packages hold the binaries as
// they are, so that no install script has to run.

const { existsSync } = require('node:fs');
const path = require('node:path');
const { ROOT, StepError, mustRun } = require('./run.js');

/**
 * @typedef {object} Runtime
 * @property {string} title
 * @property {string} name  as in the lists of differences
 * @property {() => { command: string, args: string[] }} program  that runs a file
 * @property {Record<string, string>} env
 */

/** @type {Record<string, { package: string, binary: string, args: string[] }>} by platform */
const BUN = {
  'linux-x64': { package: '@oven/bun-linux-x64@1.4.5', binary: 'bin/bun', args: [] },
  'linux-arm64': { package: '@oven/bun-linux-aarch64@1.4.5', binary: 'bin/bun', args: [] },
};
/** @type {typeof BUN} */
const DENO = {
  'linux-x64': { package: '@deno/linux-x64-glibc@2.9.6', binary: 'deno', args: ['run', '-A'] },
  'linux-arm64': { package: '@deno/linux-arm64-glibc@2.9.6', binary: 'deno', args: ['run', '-A'] },
};

/** @param {typeof BUN} packages */
function installed(packages) {
  const wanted = packages[`${process.platform}-${process.arch}`];
  if (wanted === undefined) throw new StepError(`no package for ${process.platform}`);
  const { package: spec, binary, args } = wanted;
  const version = spec.lastIndexOf('@');
  const prefix = path.join(ROOT, 'build', 'runtimes', spec.replaceAll('/', '-'));
  const command = path.join(prefix, 'node_modules', spec.slice(0, version), binary);
  if (!existsSync(command)) {
    const options = [
      '--no-save',
      '--no-package-lock',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
    ];
    mustRun('npm', ['install', ...options, '--prefix', prefix, spec]);
  }
  return { command, args };
}

/** Locks of the default bucket are those of a broker there, too. */
const WITH_BROKER = { HOLDFAST_URL: 'broker:' };

/** @type {Runtime[]} */
const RUNTIMES = [
  { title: 'Bun', name: 'bun', program: () => installed(BUN), env: WITH_BROKER },
  { title: 'Deno', name: 'deno', program: () => installed(DENO), env: WITH_BROKER },
  {
    title: 'Node without the native part',
    name: 'plain',
    program: () => ({ command: process.execPath, args: [] }),
    env: { ...WITH_BROKER, HOLDFAST_BINARY: path.join(ROOT, 'build', 'there-is-none.node') },
  },
];

module.exports = { RUNTIMES };
