'use strict';

// The Markdown files of the project: their code blocks, links, headings and tables.

const { readFileSync, readdirSync } = require('node:fs');
const path = require('node:path');

const ROOT = path.resolve(__dirname, '..', '..');

/** @returns {string[]} the files that users read, relative to the root */
function documents() {
  const below = (/** @type {string} */ folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
      .map((name) => path.posix.join(folder, name));
  const top = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];
  const bench = ['bench/README.md', 'bench/RESULTS.md', 'bench/PROFILE.md'];
  return [...top, ...below('docs'), ...below('examples'), ...bench];
}

/** @param {string} file  relative to the root */
const textOf = (file) => readFileSync(path.join(ROOT, file), 'utf8');

/**
 * @typedef {object} CodeBlock
 * @property {string} file
 * @property {number} line  of its first line of code
 * @property {string} language
 * @property {string} info  what follows the language
 * @property {string} code
 */

/**
 * @param {string} file
 * @returns {CodeBlock[]}
 */
function codeBlocks(file) {
  const text = textOf(file);
  return [...text.matchAll(/^( *)```([\w-]*)(.*)\n([\s\S]*?)^\1```$/gm)].map((match) => {
    const [, , language, info, code] = match;
    const line = text.slice(0, match.index).split('\n').length + 1;
    return { file, line, language, info: info.trim(), code };
  });
}

/** @param {string} text  without its code blocks */
const withoutCode = (text) => text.replace(/^( *)```[\s\S]*?^\1```$/gm, '');

/** @param {string} file */
const linksOf = (file) =>
  [...withoutCode(textOf(file)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link);

/**
 * The anchors of a file's headings, as GitHub makes them.
 * @param {string} file
 * @returns {Set<string>}
 */
function anchorsOf(file) {
  const headings = [...withoutCode(textOf(file)).matchAll(/^#+ (.*)$/gm)].map(([, text]) => text);
  const toAnchor = (/** @type {string} */ heading) =>
    heading
      .toLowerCase()
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replace(/\s/g, '-');
  return new Set(headings.map(toAnchor));
}

/**
 * The tables of a file, as rows of cells, the heading first.
 * @param {string} file
 * @returns {string[][][]}
 */
function tablesOf(file) {
  const tables = withoutCode(textOf(file)).match(/(^\|.*\|\n)+/gm) ?? [];
  const cellsOf = (/** @type {string} */ row) => row.slice(1, -1).split('|');
  return tables.map((table) =>
    table
      .trimEnd()
      .split('\n')
      .filter((_, index) => index !== 1)
      .map((row) => cellsOf(row).map((cell) => cell.trim())),
  );
}

module.exports = { ROOT, anchorsOf, codeBlocks, documents, linksOf, tablesOf, textOf };
