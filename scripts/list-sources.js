'use strict';

// Prints the files that node-gyp compiles, one a line, for binding.gyp. They include the sources of
// the given lists.

const { readSourceList } = require('../packaging/from-source/source-list.js');
const { writeUnityFiles } = require('./steps/unity-files.js');

const sources = process.argv.slice(2).flatMap(readSourceList);
console.log(writeUnityFiles(sources).join('\n'));
