'use strict';

// Prints the options with which the addon is optimised as a whole, one per line; none where the
// compiler is not GCC, or cannot do it. That takes 11 % of the instructions of a lock. binding.gyp
// calls this.

const { spawnSync } = require('node:child_process');
const { mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');

// Fat: a linker that knows nothing of it still finds all code.
const OPTIONS = ['-flto=auto', '-ffat-lto-objects'];
const CXX = process.env.CXX_target || process.env.CXX || 'g++'; // may have arguments

/**
 * @param {string} args
 * @param {string} [input]
 */
const compile = (args, input) =>
  spawnSync(`${CXX} ${args}`, { encoding: 'utf8', input, shell: true });

function isGcc() {
  return compile('--version').stdout.includes('Free Software Foundation');
}

function canLink() {
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-probe-'));
  try {
    const file = path.join(folder, 'probe.so');
    const args = `${OPTIONS.join(' ')} -shared -fPIC -x c++ -o "${file}" -`;
    return compile(args, 'int probe() { return 1; }').status === 0;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (isGcc() && canLink()) console.log(OPTIONS.join('\n'));
