'use strict';

// npm run format [--check]: Prettier and clang-format over the project.

const { ensurePackages } = require('./steps/packages.js');
const { ensureToolchain } = require('./steps/toolchain.js');
const { cppFiles } = require('./steps/cpp-files.js');
const { run } = require('./steps/run.js');

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
