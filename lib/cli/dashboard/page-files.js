'use strict';

const { existsSync, readFileSync } = require('node:fs');
const path = require('node:path');
const { CommandError } = require('../exit-status.js');

/** The files of the page, and nothing else: a path from outside is never looked up. */
const TYPES = /** @type {Record<string, string>} */ ({
  'index.html': 'text/html; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'page.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
});

/** Beside this program in the package; two folders up when it runs from its sources. */
const FOLDERS = [
  path.join(__dirname, 'dashboard'),
  path.join(__dirname, '../../../dist/dashboard'),
];

/** @type {Map<string, { type: string, content: Buffer }>} */
const files = new Map();

function folder() {
  const found = FOLDERS.find((one) => existsSync(path.join(one, 'index.html')));
  if (found !== undefined) return found;
  throw new CommandError('the page has not been built: run "npm run build"');
}

/**
 * @param {string} name
 * @returns {{ type: string, content: Buffer } | undefined}
 */
function pageFile(name) {
  if (!Object.hasOwn(TYPES, name)) return undefined;
  const known = files.get(name) ?? {
    type: TYPES[name],
    content: readFileSync(path.join(folder(), name)),
  };
  files.set(name, known);
  return known;
}

module.exports = { checkPage: folder, pageFile };
