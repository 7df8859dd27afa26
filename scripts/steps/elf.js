'use strict';

// The requirements of a delivered binary on the machine that loads it, as readelf prints them.

const { execFileSync } = require('node:child_process');
const { statSync } = require('node:fs');
const { StepError } = require('./run.js');
const { ensureToolchain } = require('./toolchain.js');

/** @typedef {import('../prebuilds.js').Target} Target */

/**
 * @typedef {object} Needs
 * @property {string} machine
 * @property {string[]} libraries
 * @property {string} glibc  newest version of a symbol; '0' where there is none
 * @property {string[]} exported  symbols that others can find
 * @property {string[]} variables  of a thread, that others can find or that are named in the file
 * @property {boolean} hasStaticTls
 */

/** The functions that Node calls. */
const EXPORTED = ['napi_register_module_v1', 'node_api_module_get_api_version_v1'];

/** The libraries of glibc, and musl's one library. The standard library of C++ is linked in. */
const SYSTEM_LIBRARY = /^(lib(c|m|dl|rt|pthread)\.so(\.\d)?|ld-linux-(x86-64|aarch64)\.so\.\d)$/;

/**
 * @param {string} version
 * @param {string} other
 */
const isNewer = (version, other) => version.localeCompare(other, 'en', { numeric: true }) > 0;

/**
 * @param {string} text  what `readelf --file-header --dynamic --syms --wide` prints
 * @returns {Needs}
 */
function needsOf(text) {
  const all = (/** @type {RegExp} */ pattern) =>
    [...text.matchAll(pattern)].map((match) => match[1]);
  const versions = all(/@GLIBC_([\d.]+)/g);
  const dynamic = /Symbol table '\.dynsym'[^]*?(?=\nSymbol table|$)/.exec(text)?.[0] ?? '';
  const defined = [...dynamic.matchAll(/(?:GLOBAL|WEAK)\s+\w+\s+(?!UND)\w+ (\S+)/g)];
  return {
    machine: /Machine:\s+(.*)/.exec(text)?.[1] ?? 'unknown',
    libraries: all(/\(NEEDED\).*\[(.*)\]/g),
    glibc: versions.reduce((newest, version) => (isNewer(version, newest) ? version : newest), '0'),
    exported: [...new Set(defined.map((match) => match[1]))].sort(),
    variables: [...new Set(all(/\sTLS\s+\w+\s+\w+\s+(?!UND)\w+ (\S+)/g))].sort(),
    hasStaticTls: /\(FLAGS\).*STATIC_TLS/.test(text),
  };
}

/** @param {string} file */
function readNeeds(file) {
  ensureToolchain('readelf');
  const options = ['--file-header', '--dynamic', '--syms', '--wide', file];
  const env = { ...process.env, LC_ALL: 'C' };
  return needsOf(execFileSync('readelf', options, { encoding: 'utf8', env, maxBuffer: 1 << 28 }));
}

/**
 * @param {Needs} needs
 * @param {Pick<Target, 'machine' | 'isGlibc'>} target
 * @param {string} glibc  the oldest that must do
 * @returns {string[]} What is wrong.
 */
function faultsOf(needs, { machine, isGlibc }, glibc) {
  const foreign = needs.libraries.filter((library) => !SYSTEM_LIBRARY.test(library));
  const isMuslLibrary = needs.libraries.includes('libc.so');
  const faults = [
    [!needs.machine.includes(machine), `it is for ${needs.machine}`],
    [isNewer(needs.glibc, glibc), `it needs glibc ${needs.glibc}`],
    [isGlibc === isMuslLibrary, `it needs ${needs.libraries.join(', ')}`],
    [foreign.length > 0, `it needs ${foreign.join(', ')}`],
    [needs.exported.join() !== EXPORTED.join(), `it exports ${needs.exported.join(', ')}`],
    // musl refuses it in what is loaded later, glibc has little room for it.
    [needs.hasStaticTls, 'it needs thread-local storage of the program'],
    [needs.variables.includes('errno'), 'it has its own errno'],
  ];
  return faults.filter(([isFault]) => isFault).map(([, fault]) => /** @type {string} */ (fault));
}

/**
 * @param {string} file
 * @param {Pick<Target, 'machine' | 'isGlibc' | 'name'>} target
 * @param {string} glibc
 */
function checkBinary(file, target, glibc) {
  const needs = readNeeds(file);
  const faults = faultsOf(needs, target, glibc);
  if (faults.length > 0) throw new StepError(`${target.name}: ${faults.join('; ')}`);
  return { ...needs, bytes: statSync(file).size };
}

module.exports = { checkBinary, faultsOf, needsOf };
