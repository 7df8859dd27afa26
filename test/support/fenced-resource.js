'use strict';

const { once } = require('node:events');
const { connect, createServer } = require('node:net');
const { createInterface } = require('node:readline');
const { FenceJudge } = require('./fence-judge.js');

/**
 * The resource that the processes of a stress test protect with locks: it takes calls over a socket
 * in the file system, which other network namespaces reach as well, and refuses old tokens.
 */
class FencedResource {
  judge = new FenceJudge();
  #server;

  /** @param {string} path */
  constructor(path) {
    this.path = path;
    this.#server = createServer((socket) => {
      socket.on('error', () => {}); // of a killed process
      const lines = createInterface({ input: socket });
      lines.on('error', () => {});
      lines.on('line', (line) => this.#onCall(JSON.parse(line), socket));
    }).listen(path);
  }

  /** Resolves when all that its clients have written has been judged. */
  async stop() {
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, 'close');
  }

  #onCall({ number, what, ...call }, socket) {
    const isAccepted = this.judge[what](call);
    if (number !== undefined) socket.write(`${JSON.stringify({ number, isAccepted })}\n`);
  }
}

/** A process's way to the resource. */
class ResourceClient {
  #socket;
  #lastNumber = 0;
  #answers = new Map();

  /** @param {string} path */
  constructor(path) {
    this.#socket = connect(path);
    const lines = createInterface({ input: this.#socket });
    lines.on('line', (line) => {
      const { number, isAccepted } = JSON.parse(line);
      this.#answers.get(number)(isAccepted);
      this.#answers.delete(number);
    });
  }

  /** @returns {Promise<boolean>} whether it is accepted */
  submit(what, call) {
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    this.#write({ number, what, ...call });
    return new Promise((resolve) => {
      this.#answers.set(number, resolve);
    });
  }

  report(what, call) {
    this.#write({ what, ...call });
  }

  close() {
    this.#socket.end();
  }

  #write(call) {
    this.#socket.write(`${JSON.stringify({ pid: process.pid, ...call })}\n`);
  }
}

module.exports = { FencedResource, ResourceClient };
