'use strict';

// The lists of C++ files: one entry a line, `#` starts a comment, blank lines are ignored.
// CMakeLists.txt reads the same lists itself.

const { readFileSync } = require('node:fs');
const path = require('node:path');
const { ROOT } = require('./run.js');

/**
 * @param {string} list  relative to the project
 * @returns {string[]}
 */
function readSourceList(list) {
  return readFileSync(path.join(ROOT, list), 'utf8')
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((entry) => entry !== '');
}

module.exports = { readSourceList };
