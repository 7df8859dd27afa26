'use strict';

// The session's server, and the table of its tokens, behind one address.

const { once } = require('node:events');
const http = require('node:http');
const { text } = require('node:stream/consumers');
const { Session } = require('./authority.js');
const { TokenTable } = require('./token-store.js');

/** @typedef {Record<string, { calls: number, refreshes: number }>} Machines  by address */

/**
 * POST /token {"refreshToken"} gives tokens or 400. GET /api with a bearer token gives 200, 401 or
 * 403. GET and PUT /tokens read and write the table. GET /counts returns the counts so far.
 */
class Server {
  session;
  table;
  /** @type {Machines} */
  #machines = {};
  #http = http.createServer((request, response) => this.#answer(request, response));

  /** @param {number} lifetimeMs  of an access token */
  constructor(lifetimeMs) {
    this.session = new Session(lifetimeMs);
    this.table = new TokenTable(this.session.tokens);
  }

  /**
   * @param {string} host
   * @param {number} port  0: any that is free
   * @returns {Promise<string>} its URL
   */
  async listen(host, port) {
    this.#http.listen(port, host);
    await once(this.#http, 'listening');
    const address = /** @type {import('node:net').AddressInfo} */ (this.#http.address());
    return `http://${host}:${address.port}`;
  }

  close() {
    this.#http.close();
    this.#http.closeAllConnections();
  }

  /** The counts of all requests so far. */
  get counts() {
    const { lateWrites } = this.table;
    return { ...this.session.counts, lateWrites, machines: this.#machines };
  }

  /**
   * @param {http.IncomingMessage} request
   * @param {http.ServerResponse} response
   */
  async #answer(request, response) {
    const machine = String(request.socket.remoteAddress);
    const body = await text(request).catch(() => undefined);
    if (body === undefined) return; // the client was killed while it asked
    const [status, answer] = this.#carryOut(request, body, machine);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
  }

  /**
   * @param {http.IncomingMessage} request
   * @param {string} body
   * @param {string} machine
   * @returns {[number, object?]}
   */
  #carryOut({ method, url, headers }, body, machine) {
    if (url === '/tokens' && method === 'PUT') {
      const isWritten = this.table.write(JSON.parse(body), BigInt(`${headers['fencing-token']}`));
      return [isWritten ? 204 : 409];
    }
    if (url === '/tokens') return [200, this.table.read()];
    if (url === '/counts') return [200, this.counts];
    if (url === '/token') {
      const tokens = this.session.refresh(JSON.parse(body).refreshToken);
      if (tokens === null) return [400, { error: 'invalid_grant' }];
      this.#count(machine, 'refreshes');
      return [200, tokens];
    }
    const [, accessToken = ''] = headers.authorization?.split(' ') ?? [];
    const status = this.session.call(accessToken);
    if (status === 200) this.#count(machine, 'calls');
    return [status];
  }

  /**
   * @param {string} machine
   * @param {'calls' | 'refreshes'} what
   */
  #count(machine, what) {
    this.#machines[machine] ??= { calls: 0, refreshes: 0 };
    this.#machines[machine][what] += 1;
  }
}

module.exports = { Server };
