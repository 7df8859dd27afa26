'use strict';

// Prints the given options, one per line, when the compiler of the addon is GCC, and nothing
// otherwise. binding.gyp calls this.

const { spawnSync } = require('node:child_process');

const { stdout } = spawnSync(process.env.CXX ?? 'g++', ['--version'], {
  encoding: 'utf8',
  shell: true, // CXX may have arguments, as in "ccache g++"
});
if (stdout.includes('Free Software Foundation')) {
  for (const option of process.argv.slice(2)) console.log(option);
}
