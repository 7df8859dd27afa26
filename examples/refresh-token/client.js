'use strict';

// What an application does with a session that it shares with others: the tokens are in a file,
// whoever calls the API holds a shared lock, and whoever refreshes holds the exclusive one.

const { readFileSync, renameSync, writeFileSync } = require('node:fs');
const { threadId } = require('node:worker_threads');

/** @typedef {import('./authority.js').Tokens} Tokens */

class SessionOver extends Error {}

class TokenFile {
  #path;

  /** @param {string} path */
  constructor(path) {
    this.#path = path;
  }

  /** @returns {Tokens} */
  read() {
    return JSON.parse(readFileSync(this.#path, 'utf8'));
  }

  /**
   * Whoever reads finds the old tokens or the new ones, also when this process dies meanwhile.
   * @param {Tokens} tokens
   */
  write(tokens) {
    const temporary = `${this.#path}.${process.pid}.${threadId}`;
    writeFileSync(temporary, JSON.stringify(tokens), { mode: 0o600 });
    renameSync(temporary, this.#path);
  }
}

class Client {
  #url;
  #file;
  #locks;

  /**
   * @param {string} url
   * @param {TokenFile} file
   * @param {{ request: (...args: any[]) => Promise<any> }} locks
   */
  constructor(url, file, locks) {
    this.#url = url;
    this.#file = file;
    this.#locks = locks;
  }

  /**
   * Calls the API, and refreshes the tokens first when they have expired.
   * @throws SessionOver when the server does not accept the tokens any more
   */
  async call() {
    for (;;) {
      const status = await this.#locks.request('session', { mode: 'shared' }, () => this.#get());
      if (status === 200) return;
      if (status !== 401) throw new SessionOver(`the API answers ${status}`);
      await this.#locks.request('session', () => this.#refresh());
    }
  }

  async #get() {
    const { accessToken, expiresAt } = this.#file.read();
    if (Date.now() >= expiresAt) return 401;
    const headers = { authorization: `Bearer ${accessToken}` };
    const response = await fetch(`${this.#url}/api`, { headers });
    await response.arrayBuffer();
    return response.status;
  }

  /** Holding the exclusive lock. Looks again: whoever was before in the queue may have done it. */
  async #refresh() {
    const { refreshToken, expiresAt } = this.#file.read();
    if (Date.now() < expiresAt) return;
    const body = JSON.stringify({ refreshToken });
    const response = await fetch(`${this.#url}/token`, { method: 'POST', body });
    const answer = /** @type {any} */ (await response.json());
    if (!response.ok) throw new SessionOver(`the refresh answers ${answer.error}`);
    this.#file.write(answer);
  }
}

module.exports = { Client, SessionOver, TokenFile };
