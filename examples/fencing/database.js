'use strict';

// A table whose writes bring a fencing token: in SQLite where this Node has it, else in a Map.

/**
 * @typedef {object} Database
 * @property {(value: string, token: bigint) => boolean} write  whether it was accepted
 * @property {() => string} read
 */

/**
 * @param {any} sqlite  node:sqlite
 * @returns {Database}
 */
function openSqlite(sqlite) {
  const database = new sqlite.DatabaseSync(':memory:');
  database.exec('CREATE TABLE account (name TEXT PRIMARY KEY, value TEXT, token INTEGER)');
  database.exec("INSERT INTO account VALUES ('a', '', 0)");
  const update = database.prepare(
    "UPDATE account SET value = ?, token = ? WHERE name = 'a' AND token <= ?",
  );
  const select = database.prepare("SELECT value FROM account WHERE name = 'a'");
  return {
    write: (value, token) => Number(update.run(value, token, token).changes) === 1,
    read: () => select.get().value,
  };
}

/** @returns {Database} */
function openMap() {
  let row = { value: '', token: 0n };
  return {
    write(value, token) {
      if (row.token > token) return false;
      row = { value, token };
      return true;
    },
    read: () => row.value,
  };
}

/** @returns {Database} */
function openDatabase() {
  const sqlite = process.getBuiltinModule?.('node:sqlite');
  return sqlite === undefined ? openMap() : openSqlite(sqlite);
}

module.exports = { openDatabase };
