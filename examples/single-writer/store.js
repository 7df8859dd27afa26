'use strict';

// A journal of numbered entries, in a SQLite database where this Node has one and in a plain file
// elsewhere.

const { appendFileSync, existsSync, readFileSync } = require('node:fs');

/** @typedef {{ number: number, writer: string }} Entry */
/**
 * @typedef {object} Store
 * @property {string} kind
 * @property {() => number} lastNumber  0 when there is none
 * @property {(entry: Entry) => void} append
 * @property {() => number[]} numbers  of all entries, as they were written
 */

/**
 * @param {string} path
 * @returns {Store}
 */
function openFile(path) {
  const numbers = () =>
    existsSync(path)
      ? readFileSync(path, 'utf8')
          .trimEnd()
          .split('\n')
          .map((line) => Number.parseInt(line, 10))
      : [];
  return {
    kind: 'file',
    lastNumber: () => numbers().at(-1) ?? 0,
    append: ({ number, writer }) => appendFileSync(path, `${number} ${writer}\n`),
    numbers,
  };
}

/**
 * @param {any} sqlite  node:sqlite
 * @param {string} path
 * @returns {Store}
 */
function openDatabase(sqlite, path) {
  const database = new sqlite.DatabaseSync(path);
  database.exec('PRAGMA synchronous = OFF; CREATE TABLE IF NOT EXISTS journal (number, writer)');
  const last = database.prepare('SELECT number FROM journal ORDER BY rowid DESC LIMIT 1');
  const insert = database.prepare('INSERT INTO journal VALUES (?, ?)');
  const all = database.prepare('SELECT number FROM journal ORDER BY rowid');
  return {
    kind: 'SQLite database',
    lastNumber: () => last.get()?.number ?? 0,
    append: ({ number, writer }) => insert.run(number, writer),
    numbers: () => all.all().map((/** @type {Entry} */ { number }) => number),
  };
}

/**
 * @param {string} path
 * @returns {Store}
 */
function openStore(path) {
  const sqlite = process.getBuiltinModule?.('node:sqlite');
  return sqlite === undefined ? openFile(path) : openDatabase(sqlite, path);
}

module.exports = { openStore };
