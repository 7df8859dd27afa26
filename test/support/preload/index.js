'use strict';

const { spawnSync } = require('node:child_process');
const { chmodSync, mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

/**
 * Compiles one of the libraries of this folder, which stand between a program and its C library.
 * @param {string} name  of the file, without `.c`
 * @returns {{ file?: string, reason?: string, remove: () => void }} the library, or why there is
 * none
 */
function compilePreload(name) {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-'));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  chmodSync(directory, 0o755); // for programs of other users
  const file = join(directory, `${name}.so`);
  const words = ['-shared', '-fPIC', '-O2', '-Wall', '-Wextra', '-Werror', '-o', file];
  const source = join(__dirname, `${name}.c`);
  const options = /** @type {const} */ ({ encoding: 'utf8' });
  const { status, error, stderr } = spawnSync('cc', [...words, source, '-ldl'], options);
  if (status === 0) return { file, remove };
  remove();
  if (error === undefined) throw new Error(stderr);
  return { reason: `no C compiler: ${error.message}`, remove };
}

/**
 * `describe` for tests of programs with such a library; says aloud when it skips them.
 * @param {string} name
 * @param {string} title
 * @param {(file: string) => void} define
 */
function describeWithPreload(name, title, define) {
  const { file, reason, remove } = compilePreload(name);
  if (file === undefined) {
    console.warn(`Skipped: ${title}: ${reason}`);
    return describe.skip(`${title} (${reason})`, () => define(''));
  }
  return describe(title, () => {
    afterAll(remove);
    define(file);
  });
}

module.exports = { describeWithPreload };
