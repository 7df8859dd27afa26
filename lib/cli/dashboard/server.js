'use strict';

const { randomBytes, timingSafeEqual } = require('node:crypto');
const { once } = require('node:events');
const { createServer } = require('node:http');
const { LiveFeed } = require('./live-feed.js');
const { pageFile } = require('./page-files.js');

/** @typedef {import('node:http').IncomingMessage} Request */
/** @typedef {import('node:http').ServerResponse} Response */

const LOOPBACK = '127.0.0.1';
const HTTP_PORT = 80;
const TOKEN_BYTES = 24;

/**
 * The page loads nothing from elsewhere, talks to nobody else, and is in no frame. Nothing of it is
 * kept: the address is a key.
 */
const HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
};

/** @param {Request} request @param {string} name */
const parameter = ({ url = '' }, name) =>
  new URL(url, `http://${LOOPBACK}`).searchParams.get(name) ?? '';

/** Serves the page and its live data to browsers of this machine that know the token. */
class DashboardServer {
  #token = randomBytes(TOKEN_BYTES).toString('base64url');
  #feed;
  #server;

  /**
   * @param {import('holdfast').LockManager} manager
   * @param {{ place: string, interval: number }} options  interval: ms between two pictures
   */
  constructor(manager, options) {
    this.#feed = new LiveFeed(manager, options);
    this.#server = createServer((request, response) => this.#answer(request, response));
  }

  /**
   * @param {number} port  0: any
   * @returns {Promise<string>} the address of the page
   */
  async listen(port) {
    this.#server.listen(port, LOOPBACK);
    await once(this.#server, 'listening');
    return `http://${LOOPBACK}:${this.#port}/${this.#token}/`;
  }

  async close() {
    this.#feed.close();
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  get #port() {
    return /** @type {import('node:net').AddressInfo} */ (this.#server.address()).port;
  }

  /**
   * @param {Request} request
   * @param {Response} response
   */
  #answer(request, response) {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    if (!this.#isMeantForUs(request)) return this.#refuse(response, 403);
    const [, token = '', file] = (request.url ?? '').split('?')[0].match(/^\/([^/]*)\/(.*)$/) ?? [];
    if (!this.#isToken(token)) return this.#refuse(response, 403);
    if (request.method !== 'GET') return this.#refuse(response, 405);
    if (file === 'events') return this.#feed.add(response);
    if (file === 'locks') return this.#answerLocks(request, response);
    if (file === 'lock') return void this.#answerLock(request, response);
    const found = pageFile(file === '' ? 'index.html' : file);
    if (found === undefined) return this.#refuse(response, 404);
    response.setHeader('Content-Type', found.type);
    response.end(found.content);
  }

  /**
   * A page of another site must not reach this one by a name that it has led to this address.
   * @param {Request} request
   */
  #isMeantForUs({ headers }) {
    // RFC 9110, 7.2: the default port may be left out, and browsers do.
    const host = headers.host?.includes(':') ? headers.host : `${headers.host}:${HTTP_PORT}`;
    return [`${LOOPBACK}:${this.#port}`, `localhost:${this.#port}`].includes(host);
  }

  /** @param {string} token */
  #isToken(token) {
    const [given, own] = [Buffer.from(token), Buffer.from(this.#token)];
    return given.length === own.length && timingSafeEqual(given, own);
  }

  /**
   * All requests of one lock.
   * @param {Request} request
   * @param {Response} response
   */
  async #answerLock(request, response) {
    try {
      const lock = await this.#feed.lock(parameter(request, 'name'));
      response.setHeader('Content-Type', 'application/json');
      response.end(lock);
    } catch {
      this.#refuse(response, 503); // the table was removed or replaced: the feed says so
    }
  }

  /**
   * All locks with a text in their names.
   * @param {Request} request
   * @param {Response} response
   */
  #answerLocks(request, response) {
    response.setHeader('Content-Type', 'application/json');
    response.end(this.#feed.locks(parameter(request, 'text')));
  }

  /**
   * @param {Response} response
   * @param {number} status
   */
  #refuse(response, status) {
    response.statusCode = status;
    response.setHeader('Content-Type', 'text/plain');
    response.end(status === 403 ? 'The address of the dashboard has a token: use it whole.\n' : '');
  }
}

module.exports = { DashboardServer };
