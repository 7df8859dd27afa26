'use strict';

// The C++ compiler: found, or installed after asking.

const { spawnSync } = require('node:child_process');
const readline = require('node:readline/promises');
const { Problem } = require('./problem.js');

const HOW =
  'On Debian or Ubuntu: apt-get install g++; on Alpine: apk add g++; on Fedora: dnf install gcc-c++.';

/** CXX may have arguments. */
const compilerOf = () => (process.env.CXX ?? 'c++').split(/\s+/).filter((part) => part !== '');

/** @param {string[]} command */
function knowsCpp20([program, ...args]) {
  const check = [...args, '-std=c++20', '-fsyntax-only', '-x', 'c++', '-'];
  const input = '#include <concepts>\n#include <atomic>\n';
  return spawnSync(program, check, { input, stdio: ['pipe', 'ignore', 'ignore'] }).status === 0;
}

/** @param {string} program */
const isThere = (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).status === 0;

/** @param {string} question */
async function confirms(question) {
  if (!process.stdin.isTTY) return false;
  const prompt = readline.createInterface({ input: process.stdin, output: process.stderr });
  const answer = await prompt.question(`${question} [y/N] `);
  prompt.close();
  return /^y(es)?$/i.test(answer.trim());
}

/** @param {boolean} isAgreed  by an option */
async function installWithApt(isAgreed) {
  const command = [
    ...(process.getuid?.() === 0 ? [] : ['sudo']),
    'apt-get',
    'install',
    '-y',
    'g++',
  ];
  const shown = command.join(' ');
  if (!isThere('apt-get')) return false;
  if (!isAgreed && !(await confirms(`There is no compiler for C++20. Run "${shown}"?`)))
    return false;
  const [program, ...args] = command;
  return spawnSync(program, args, { stdio: 'inherit' }).status === 0;
}

/**
 * @param {boolean} isAgreed  that a missing one is installed
 * @returns {Promise<string[]>} program and arguments
 */
async function ensureCompiler(isAgreed) {
  const command = compilerOf();
  if (knowsCpp20(command)) return command;
  if ((await installWithApt(isAgreed)) && knowsCpp20(command)) return command;
  throw new Problem(
    `"${command.join(' ')}" is no compiler for C++20 (g++ 12, clang 14 or newer). ${HOW} ` +
      'CXX names another one.',
  );
}

module.exports = { ensureCompiler };
