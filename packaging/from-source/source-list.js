'use strict';

// The lists of C++ files: one entry a line, `#` starts a comment, blank lines are ignored.
// CMakeLists.txt reads the same lists itself.

const { readFileSync } = require('node:fs');
const path = require('node:path');

/** The folder of the package. */
const ROOT = path.resolve(__dirname, '..', '..');

/**
 * @param {string} list  relative to the package
 * @returns {string[]}
 */
function readSourceList(list) {
  return readFileSync(path.join(ROOT, list), 'utf8')
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((entry) => entry !== '');
}

/** The sources of the addon: the core and the binding. */
const addonSources = () => [
  ...readSourceList('src/sources.txt'),
  ...readSourceList('src/binding-sources.txt'),
];

module.exports = { ROOT, addonSources, readSourceList };
