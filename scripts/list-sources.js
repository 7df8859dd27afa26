'use strict';

// Prints the entries of the given source lists, one per line: `#` starts a comment, blank lines
// are ignored. binding.gyp calls this; CMakeLists.txt reads the same lists itself.

const { readFileSync } = require('node:fs');

for (const list of process.argv.slice(2)) {
  for (const line of readFileSync(list, 'utf8').split('\n')) {
    const entry = line.replace(/#.*/, '').trim();
    if (entry !== '') console.log(entry);
  }
}
