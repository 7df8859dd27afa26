'use strict';

const { lstatSync, readdirSync } = require('node:fs');
const { join } = require('node:path');

/**
 * All that is in a folder and below it, by relative paths, also while it is changed.
 * @param {string} folder
 * @returns {string[]}
 */
function filesBelow(folder) {
  let entries;
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // it was removed just now
  }
  return entries.flatMap((entry) => [
    entry.name,
    ...(entry.isDirectory() ? filesBelow(join(folder, entry.name)) : []).map((name) =>
      join(entry.name, name),
    ),
  ]);
}

/** A client of a bucket has files in these folders, and a record in these files, while it lives. */
const OF_CLIENTS = /(^|\/)(default|segment|journal\.\d+|lifelines)$/;

/**
 * The facts about a folder and about all below it that a client leaves as they were.
 * @param {string} folder
 */
const factsBelow = (folder) =>
  ['', ...filesBelow(folder)].sort().map((file) => {
    const { ino, mode, mtimeMs, nlink, size, uid, gid } = lstatSync(join(folder, file));
    const facts = { file, ino, mode, nlink, size, uid, gid };
    return OF_CLIENTS.test(file) ? facts : { ...facts, mtimeMs };
  });

module.exports = { factsBelow, filesBelow };
