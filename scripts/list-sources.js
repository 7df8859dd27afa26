'use strict';

// Prints the files that node-gyp compiles, one a line, for binding.gyp. They include the sources of
// the given lists.
//
// These include the sources of one folder each: to read the headers once is what saves time.

const { existsSync, mkdirSync, readFileSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { readSourceList, ROOT } = require('../packaging/from-source/source-list.js');

const FOLDER = path.join('build', 'unity');

/**
 * @param {string[]} sources  relative to the package, below src/
 * @param {string} [ending]  of their names, for a part of the sources
 * @returns {string[]} the files, relative to the package
 */
function writeUnityFiles(sources, ending = '') {
  const folders = [...new Set(sources.map((source) => source.split('/')[1]))];
  mkdirSync(path.join(ROOT, FOLDER), { recursive: true });
  return folders.map((folder) => {
    const inside = sources.filter((source) => source.startsWith(`src/${folder}/`));
    const file = path.join(FOLDER, `${folder}${ending}.cc`);
    writeIfNew(file, inside.map((source) => `#include "../../${source}"\n`).join(''));
    return file;
  });
}

/**
 * Leaves a file with the same text alone: a file that is written again is compiled again.
 * @param {string} file
 * @param {string} text
 */
function writeIfNew(file, text) {
  const target = path.join(ROOT, file);
  if (existsSync(target) && readFileSync(target, 'utf8') === text) return;
  writeFileSync(target, text);
}

if (require.main === module) {
  const sources = process.argv.slice(2).flatMap(readSourceList);
  console.log(writeUnityFiles(sources).join('\n'));
}

module.exports = { writeUnityFiles };
