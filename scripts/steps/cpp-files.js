'use strict';

// The C++ files of the project, as git knows them: tracked, or new and not ignored.

const { execFileSync } = require('node:child_process');
const { existsSync } = require('node:fs');
const path = require('node:path');
const { ROOT } = require('./run.js');

/**
 * @param {string[]} patterns git pathspecs
 * @returns {string[]} Paths relative to the project.
 */
function cppFiles(patterns) {
  const listed = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...patterns],
    { cwd: ROOT, encoding: 'utf8' },
  );
  const files = listed.split('\0').filter((file) => file !== '');
  return [...new Set(files)].filter((file) => existsSync(path.join(ROOT, file))).sort();
}

module.exports = { cppFiles };
