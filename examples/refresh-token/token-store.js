'use strict';

// The store of the tokens: a file, for the processes of one machine, or a table that several
// machines reach over HTTP. The table stands for a database: it checks fencing tokens.

const { readFileSync, renameSync, writeFileSync } = require('node:fs');
const { threadId } = require('node:worker_threads');

/** @typedef {import('./authority.js').Tokens} Tokens */

/**
 * @typedef {object} TokenStore
 * @property {(signal?: AbortSignal) => Promise<Tokens>} read
 * @property {(tokens: Tokens, fence: bigint, signal?: AbortSignal) => Promise<void>} write  fence:
 *   the token of the lock under which this is written
 */

/** @implements {TokenStore} */
class TokenFile {
  #path;

  /** @param {string} path */
  constructor(path) {
    this.#path = path;
  }

  async read() {
    return JSON.parse(readFileSync(this.#path, 'utf8'));
  }

  /**
   * A reader finds the old tokens or the new ones, also when this process dies meanwhile.
   * @param {Tokens} tokens
   */
  async write(tokens) {
    const temporary = `${this.#path}.${process.pid}.${threadId}`;
    writeFileSync(temporary, JSON.stringify(tokens), { mode: 0o600 });
    renameSync(temporary, this.#path);
  }
}

/** @implements {TokenStore} */
class RemoteTokens {
  #url;

  /** @param {string} url  of the table's server */
  constructor(url) {
    this.#url = `${url}/tokens`;
  }

  /** @param {AbortSignal} [signal] */
  async read(signal) {
    const response = await fetch(this.#url, { signal });
    return /** @type {any} */ (await response.json());
  }

  /**
   * A write that comes after the write of a later holder is refused, and needs no answer. The lock
   * of this writer was lost, and the later holder has done the work.
   * @param {Tokens} tokens
   * @param {bigint} fence
   * @param {AbortSignal} [signal]
   */
  async write(tokens, fence, signal) {
    const headers = { 'fencing-token': String(fence) };
    const body = JSON.stringify(tokens);
    const response = await fetch(this.#url, { method: 'PUT', headers, body, signal });
    await response.arrayBuffer();
  }
}

/** The table behind the HTTP: a row, and the largest fencing token that has written it. */
class TokenTable {
  lateWrites = 0;
  #tokens;
  #fence = 0n;

  /** @param {Tokens} tokens */
  constructor(tokens) {
    this.#tokens = tokens;
  }

  read() {
    return this.#tokens;
  }

  /**
   * @param {Tokens} tokens
   * @param {bigint} fence
   * @returns {boolean} false: a writer with a larger fencing token has written
   */
  write(tokens, fence) {
    if (fence < this.#fence) {
      this.lateWrites += 1;
      return false;
    }
    this.#fence = fence;
    this.#tokens = tokens;
    return true;
  }
}

module.exports = { RemoteTokens, TokenFile, TokenTable };
