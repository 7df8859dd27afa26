'use strict';

// An application's use of a session that it shares with others. The tokens are in a store; a call
// of the API holds a shared lock, and a refresh holds the exclusive one.

const { LockLostError } = require('holdfast');

class SessionOver extends Error {}

/** @typedef {Pick<import('holdfast').Lock, 'signal' | 'token'>} Held */

class Client {
  #url;
  #store;
  #locks;

  /**
   * @param {string} url
   * @param {import('./token-store.js').TokenStore} store
   * @param {{ request: (...args: any[]) => Promise<any> }} locks
   */
  constructor(url, store, locks) {
    this.#url = url;
    this.#store = store;
    this.#locks = locks;
  }

  /**
   * Calls the API, and refreshes the tokens first when they have expired.
   * @throws SessionOver when the server does not accept the tokens any more
   */
  async call() {
    while (!(await this.#try()));
  }

  /** @returns {Promise<boolean>} whether the API has been called */
  async #try() {
    const get = (/** @type {Held} */ { signal }) => this.#get(signal);
    try {
      const expired = await this.#locks.request('session', { mode: 'shared' }, get);
      if (expired === undefined) return true;
      const refresh = (/** @type {Held} */ lock) => this.#refresh(expired, lock);
      await this.#locks.request('session', refresh);
    } catch (error) {
      // A machine that is cut off loses its locks, and begins again.
      if (!(error instanceof LockLostError)) throw error;
    }
    return false;
  }

  /**
   * @param {AbortSignal} signal  aborts when the lock is lost
   * @returns {Promise<string | undefined>} the access token, if it has expired
   */
  async #get(signal) {
    const { accessToken } = await this.#store.read(signal);
    const headers = { authorization: `Bearer ${accessToken}` };
    const response = await fetch(`${this.#url}/api`, { headers, signal });
    await response.arrayBuffer();
    if (response.status === 401) return accessToken;
    if (response.status !== 200) throw new SessionOver(`the API answers ${response.status}`);
    return undefined;
  }

  /**
   * Reads the store again: an earlier holder may have refreshed. No clock is read, because the
   * clocks of several machines differ.
   * @param {string} expired  the access token that was refused
   * @param {Held} lock  the exclusive one
   */
  async #refresh(expired, { signal, token }) {
    const { accessToken, refreshToken } = await this.#store.read(signal);
    if (accessToken !== expired) return;
    const body = JSON.stringify({ refreshToken });
    const response = await fetch(`${this.#url}/token`, { method: 'POST', body, signal });
    const answer = /** @type {any} */ (await response.json());
    if (!response.ok) throw new SessionOver(`the refresh answers ${answer.error}`);
    await this.#store.write(answer, token, signal);
  }
}

module.exports = { Client, SessionOver };
