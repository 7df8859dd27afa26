'use strict';

// An authorization server with rotating refresh tokens, and the API that it protects, for one
// session. Whoever refreshes gets a new pair of tokens, and the old pair is worth nothing any more.
// An old refresh token that comes back was copied or used twice, so the whole session is revoked
// (RFC 9700, 4.14.2). One repetition is forgiven, as servers do whose clients may crash: as long as
// nobody has used the new pair, the answer may have been lost, and is given again.

const http = require('node:http');
const { randomUUID } = require('node:crypto');

/** @typedef {{ accessToken: string, refreshToken: string, expiresAt: number }} Tokens */

class Session {
  /** @type {Tokens} */
  tokens;
  counts = { calls: 0, refreshes: 0, needlessRefreshes: 0, revocations: 0, refusedCalls: 0 };
  #lifetimeMs;
  #isCurrentUsed = false;
  #previousRefreshToken = '';
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

  /**
   * @param {string} refreshToken
   * @returns {Tokens | null} null: the session is over
   */
  refresh(refreshToken) {
    if (this.#isRevoked) return null;
    const isRepetition = refreshToken === this.#previousRefreshToken && !this.#isCurrentUsed;
    if (isRepetition) return this.tokens;
    if (refreshToken !== this.tokens.refreshToken) {
      this.#isRevoked = true;
      this.counts.revocations += 1;
      return null;
    }
    if (Date.now() < this.tokens.expiresAt) this.counts.needlessRefreshes += 1;
    this.counts.refreshes += 1;
    this.#previousRefreshToken = refreshToken;
    this.#isCurrentUsed = false;
    this.tokens = this.#newTokens();
    return this.tokens;
  }

  /**
   * @param {string} accessToken
   * @returns {200 | 401 | 403} 401: expired, refresh it; 403: no token of this session (any more)
   */
  call(accessToken) {
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

/**
 * POST /token {"refreshToken"} gives tokens or 400; GET /api with a bearer token gives 200, 401 or
 * 403.
 * @param {Session} session
 */
function createAuthority(session) {
  return http.createServer(async (request, response) => {
    if (request.url === '/token') {
      let body = '';
      for await (const chunk of request.setEncoding('utf8')) body += chunk;
      const tokens = session.refresh(JSON.parse(body).refreshToken);
      response.writeHead(tokens === null ? 400 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(tokens ?? { error: 'invalid_grant' }));
    } else {
      const [, accessToken = ''] = request.headers.authorization?.split(' ') ?? [];
      response.writeHead(session.call(accessToken)).end();
    }
  });
}

module.exports = { Session, createAuthority };
