'use strict';

// What the tarball may hold, and whether the links in its texts lead to something.

const { readFileSync } = require('node:fs');
const path = require('node:path');

/** Development files, and what makes npm build at installation. */
const FORBIDDEN = [
  /^binding\.gyp$/,
  /^(scripts|test|build|\.github|\.ci)\//,
  /^packaging\/(?!from-source\/)/,
  /\.(debug|tgz|log)$/,
  /(^|\/)node_modules\//,
];

/** @param {string[]} names  of the files in the tarball */
const forbiddenFiles = (names) =>
  names.filter((name) => FORBIDDEN.some((pattern) => pattern.test(name)));

/**
 * Relative links in the Markdown files at the top and in docs/ whose target is not in the tarball.
 * @param {string} root
 * @param {string[]} names  of the files in the tarball
 */
function deadLinks(root, names) {
  const present = new Set(names);
  return names
    .filter((name) => /^(README\.md|docs\/[^/]+\.md)$/.test(name))
    .flatMap((name) => {
      const text = readFileSync(path.join(root, name), 'utf8');
      return [...text.matchAll(/\]\(([^)#\s]+)/g)]
        .map(([, link]) => link)
        .filter((link) => !/^[a-z]+:/.test(link))
        .map((link) => path.posix.join(path.posix.dirname(name), link))
        .filter((file) => !present.has(file) && !names.some((each) => each.startsWith(`${file}/`)))
        .map((file) => `${file} (in ${name})`);
    });
}

module.exports = { deadLinks, forbiddenFiles };
