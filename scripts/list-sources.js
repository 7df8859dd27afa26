'use strict';

// Prints the entries of the given source lists, one per line, for binding.gyp.

const { readSourceList } = require('../packaging/from-source/source-list.js');

for (const list of process.argv.slice(2)) console.log(readSourceList(list).join('\n'));
