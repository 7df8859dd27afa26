'use strict';

const { createHash } = require('node:crypto');
const { readFileSync, renameSync, rmSync, writeFileSync } = require('node:fs');
const path = require('node:path');
const { isObject } = require('../webidl.js');

/** @typedef {import('../../types/run-every.d.ts').RunStore} RunStore */

const HASH_DIGITS = 32;

/** The last runs of jobs that use this thread's own locks, by table and name. */
/** @type {WeakMap<object, Map<string, number>>} */
const memories = new WeakMap();

/**
 * A file with one number. It is replaced by rename, so a process that dies leaves it intact.
 * @param {(name: string) => string} fileOf
 * @returns {RunStore}
 */
const fileStore = (fileOf) => ({
  read(name) {
    let text;
    try {
      text = readFileSync(fileOf(name), 'utf8');
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return undefined;
      throw error;
    }
    const run = Number.parseInt(text, 10);
    return Number.isSafeInteger(run) ? run : undefined;
  },
  write(name, run) {
    const file = fileOf(name);
    // Only the process that holds the lock writes.
    const draft = `${file}.${process.pid}`;
    try {
      writeFileSync(draft, `${run}\n`, { mode: 0o600 });
      renameSync(draft, file);
    } catch (error) {
      rmSync(draft, { force: true });
      throw error;
    }
  },
});

/**
 * @param {object} table
 * @returns {RunStore}
 */
function memoryStore(table) {
  const runs = memories.get(table) ?? new Map();
  memories.set(table, runs);
  return {
    read: (name) => runs.get(name),
    write: (name, run) => void runs.set(name, run),
  };
}

/**
 * @param {unknown} value
 * @returns {RunStore}
 * @throws TypeError
 */
function toRunStore(value) {
  if (typeof value === 'string') {
    // A relative path would name another file for every working directory.
    if (path.isAbsolute(value)) return fileStore(() => value);
    throw new TypeError(`The member 'store' is not an absolute path: ${value}`);
  }
  const store = /** @type {any} */ (value);
  if (isObject(value) && typeof store.read === 'function' && typeof store.write === 'function') {
    return store;
  }
  throw new TypeError("The member 'store' is neither a path nor an object with read() and write()");
}

/**
 * The default place for the record of runs: beside the lock table.
 * @param {import('../../types/backend.d.ts').LockBackend} backend
 * @returns {RunStore}
 * @throws TypeError if the locks have no directory on this machine
 */
function defaultRunStore(backend) {
  const { folder } = backend;
  if (folder !== undefined) {
    const hash = (/** @type {string} */ name) => createHash('sha256').update(name, 'utf16le');
    const idOf = (/** @type {string} */ name) => hash(name).digest('hex').slice(0, HASH_DIGITS);
    return fileStore((name) => path.join(folder, `run.${idOf(name)}`));
  }
  const { LocalBackend } = require('../backends/local/backend.js');
  if (backend instanceof LocalBackend) return memoryStore(backend.table);
  throw new TypeError("These locks have no directory on this machine: 'store' has to be given");
}

module.exports = { defaultRunStore, toRunStore };
