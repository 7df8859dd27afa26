'use strict';

// The parts of binding.gyp that are computed: `node gyp.js sources` prints the files that
// node-gyp compiles, `link-time-options` and `warnings` print options, one a line.

const { spawnSync } = require('node:child_process');
const {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');

/** The folder of binding.gyp. */
const ROOT = path.resolve(__dirname, '..', '..');

/**
 * A list of C++ files: one entry a line, `#` starts a comment, blank lines are ignored.
 * CMakeLists.txt reads the same lists.
 * @param {string} list  relative to the root
 * @returns {string[]}
 */
function readSourceList(list) {
  return readFileSync(path.join(ROOT, list), 'utf8')
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((entry) => entry !== '');
}

const LISTS = ['src/sources.txt', 'src/binding-sources.txt'];

/** The sources of the addon: the core and the binding. */
const addonSources = () => LISTS.flatMap(readSourceList);

const UNITY_FOLDER = path.join('build', 'unity');

/**
 * Writes files that include the sources of one folder each: to read the headers once saves time.
 * @param {string[]} sources  relative to the root, below src/
 * @param {string} [ending]  of their names, for a part of the sources
 * @returns {string[]} the files, relative to the root
 */
function writeUnityFiles(sources, ending = '') {
  const folders = [...new Set(sources.map((source) => source.split('/')[1]))];
  mkdirSync(path.join(ROOT, UNITY_FOLDER), { recursive: true });
  return folders.map((folder) => {
    const inside = sources.filter((source) => source.startsWith(`src/${folder}/`));
    const file = path.join(UNITY_FOLDER, `${folder}${ending}.cc`);
    writeIfNew(file, inside.map((source) => `#include "../../${source}"\n`).join(''));
    return file;
  });
}

/**
 * Leaves a file with the same text alone: a file that is written again is compiled again.
 * @param {string} file
 * @param {string} text
 */
function writeIfNew(file, text) {
  const target = path.join(ROOT, file);
  if (existsSync(target) && readFileSync(target, 'utf8') === text) return;
  writeFileSync(target, text);
}

// Fat: a linker without support for it still finds all code.
const LINK_TIME_OPTIONS = ['-flto=auto', '-ffat-lto-objects'];

/**
 * The options by which the addon is optimised as a whole, which saves 11 % of the instructions of a
 * lock. None if the compiler is not GCC, or cannot do it.
 */
function linkTimeOptions() {
  const cxx = process.env.CXX_target || process.env.CXX || 'g++'; // may have arguments
  const compile = (/** @type {string} */ args, /** @type {string} */ input = '') =>
    spawnSync(`${cxx} ${args}`, { encoding: 'utf8', input, shell: true });
  if (!compile('--version').stdout.includes('Free Software Foundation')) return [];
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-probe-'));
  try {
    const file = path.join(folder, 'probe.so');
    const args = `${LINK_TIME_OPTIONS.join(' ')} -shared -fPIC -x c++ -o "${file}" -`;
    return compile(args, 'int probe() { return 1; }').status === 0 ? LINK_TIME_OPTIONS : [];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** A compiler of tomorrow may warn: that must not end the build of a user. */
const warnings = () => (existsSync(path.join(ROOT, 'test')) ? ['-Werror'] : []);

/** A folder with headers of this Node, which make a build work without a network. */
function headerPrefix() {
  const prefix = path.dirname(path.dirname(process.execPath));
  return existsSync(path.join(prefix, 'include', 'node', 'node_api.h')) ? prefix : undefined;
}

/** @type {Record<string, () => string[]>} */
const COMMANDS = {
  sources: () => writeUnityFiles(addonSources()),
  'link-time-options': linkTimeOptions,
  warnings,
};

if (require.main === module) console.log(COMMANDS[process.argv[2]]().join('\n'));

module.exports = { addonSources, headerPrefix, writeUnityFiles };
