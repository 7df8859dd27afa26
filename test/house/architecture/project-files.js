'use strict';

// The files of the project as text, for the tests that read them.

const { existsSync, readFileSync, readdirSync } = require('node:fs');
const path = require('node:path');

const ROOT = path.resolve(__dirname, '..', '..', '..');

/** Every file below `folder` with one of these endings, relative to the project, with `/`. */
function filesBelow(folder, endings) {
  const entries = readdirSync(path.join(ROOT, folder), { withFileTypes: true });
  return entries.flatMap((entry) => {
    const name = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return filesBelow(name, endings);
    return endings.includes(path.extname(entry.name)) ? [name] : [];
  });
}

const textOf = (file) => readFileSync(path.join(ROOT, file), 'utf8');

const isThere = (file) => existsSync(path.join(ROOT, file));

/** The matches of the first group of `pattern` in the text, each once. */
const allMatches = (text, pattern) => [
  ...new Set([...text.matchAll(pattern)].map((match) => match[1])),
];

module.exports = { filesBelow, textOf, isThere, allMatches };
