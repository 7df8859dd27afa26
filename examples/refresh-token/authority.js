'use strict';

// An authorization server with rotating refresh tokens, and the API that it protects, for one
// session. A refresh returns a new pair of tokens, and makes the old pair worthless. An old refresh
// token that is sent again was copied or used twice, so the whole session is revoked (RFC 9700,
// 4.14.2). One repetition is forgiven, as by servers whose clients may crash. As long as the new
// pair is unused, the answer may have been lost, and is given again.

const { randomUUID } = require('node:crypto');

/** @typedef {{ accessToken: string, refreshToken: string, expiresAt: number }} Tokens */

class Session {
  /** @type {Tokens} */
  tokens;
  counts = {
    calls: 0,
    refreshes: 0,
    repetitions: 0,
    needlessRefreshes: 0,
    revocations: 0,
    refusedCalls: 0,
  };
  #lifetimeMs;
  #isCurrentUsed = false;
  /** @type {Tokens | undefined} */
  #previous;
  #isRevoked = false;

  /** @param {number} lifetimeMs  of an access token */
  constructor(lifetimeMs) {
    this.#lifetimeMs = lifetimeMs;
    this.tokens = this.#newTokens();
  }

  /** @returns {Tokens} */
  #newTokens() {
    const expiresAt = Date.now() + this.#lifetimeMs;
    return { accessToken: randomUUID(), refreshToken: randomUUID(), expiresAt };
  }

  /** The pair before, as long as the answer with the new one may have been lost. */
  get #forgiven() {
    return this.#isCurrentUsed ? undefined : this.#previous;
  }

  /**
   * @param {string} refreshToken
   * @returns {Tokens | null} null: the session is over
   */
  refresh(refreshToken) {
    if (this.#isRevoked) return null;
    if (refreshToken === this.#forgiven?.refreshToken) {
      this.counts.repetitions += 1;
      return this.tokens;
    }
    if (refreshToken !== this.tokens.refreshToken) {
      this.#isRevoked = true;
      this.counts.revocations += 1;
      return null;
    }
    if (Date.now() < this.tokens.expiresAt) this.counts.needlessRefreshes += 1;
    this.counts.refreshes += 1;
    this.#previous = this.tokens;
    this.#isCurrentUsed = false;
    this.tokens = this.#newTokens();
    return this.tokens;
  }

  /**
   * @param {string} accessToken
   * @returns {200 | 401 | 403} 401: expired, refresh it; 403: no token of this session (any more)
   */
  call(accessToken) {
    const isForgiven = accessToken === this.#forgiven?.accessToken;
    if (isForgiven && !this.#isRevoked) return 401;
    if (this.#isRevoked || accessToken !== this.tokens.accessToken) {
      this.counts.refusedCalls += 1;
      return 403;
    }
    this.#isCurrentUsed = true;
    if (Date.now() >= this.tokens.expiresAt) return 401;
    this.counts.calls += 1;
    return 200;
  }
}

module.exports = { Session };
