'use strict';

// npm run format [--check]: Prettier and clang-format over the project.

const { execFileSync } = require('node:child_process');
const { existsSync } = require('node:fs');
const path = require('node:path');
const { ROOT, run } = require('./steps/run.js');
const { ensurePackages, ensureToolchain } = require('./steps/toolchain.js');

/**
 * The C++ files of the project, as git lists them: tracked, or new and not ignored.
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

const isCheck = process.argv.includes('--check');

ensurePackages();
ensureToolchain('format');

const prettier = require.resolve('prettier/bin/prettier.cjs');
const prettierMode = isCheck ? '--check' : '--write';
const statuses = [run(process.execPath, [prettier, prettierMode, '--log-level=warn', '.'])];

const files = cppFiles(['*.cc', '*.h']);
const clangMode = isCheck ? ['--dry-run', '--Werror'] : ['-i'];
if (files.length > 0) statuses.push(run('clang-format', [...clangMode, ...files]));

process.exitCode = Math.max(...statuses);
