'use strict';

const net = require('node:net');
const { proofOf } = require('../../lib/backends/broker/wire.js');
const { machineNow } = require('../../lib/backends/broker/machine-clock.js');

const NOWHERE = '/nowhere';

/** A connection to a broker that says what a test wants it to say. */
class RawClient {
  #socket;
  #text = '';
  /** @type {any[][]} not yet read */
  #messages = [];
  #onMessage = () => {};
  #lastCall = 0;

  /** @param {{ socket: string, key: string }} epoch */
  static async open(epoch) {
    const client = new RawClient(epoch);
    const [, , nonce] = await client.next('hi');
    client.say('auth', proofOf(epoch.key, 'client', nonce), 'n');
    await client.next('welcome');
    return client;
  }

  /** @param {{ socket: string }} epoch */
  constructor({ socket }) {
    this.#socket = net.connect(socket);
    this.#socket.setEncoding('utf8');
    this.#socket.on('data', (piece) => {
      const lines = (this.#text + piece).split('\n');
      this.#text = lines.pop();
      this.#messages.push(...lines.map((line) => JSON.parse(line)));
      this.#onMessage();
    });
    this.#socket.on('error', () => this.#socket.destroy());
  }

  say(...message) {
    this.#socket.write(`${JSON.stringify(message)}\n`);
  }

  /** Sends the requests that a client, or its helper thread, has: `requests` as they cross. */
  handshake(session, requests = [], { isHelper = false, upTo = 0 } = {}) {
    const state = { session, clientId: session, lifeline: NOWHERE, thread: session };
    const its = { pid: process.pid, pidNamespace: 'of tests', threadId: 0 };
    this.say('hello', { ...state, ...its, upTo, requests }, isHelper);
  }

  /** Asks for an exclusive lock. */
  request(id, name) {
    this.say('q', id, name, 0, machineNow(), null);
  }

  /** The next message of this kind; those before it are dropped. */
  async next(kind) {
    for (;;) {
      const message = this.#messages.shift();
      if (message?.[0] === kind) return message;
      if (message === undefined) await new Promise((resolve) => (this.#onMessage = resolve));
    }
  }

  async call(what, ...argument) {
    this.#lastCall += 1;
    this.say('?', this.#lastCall, what, machineNow(), argument);
    const [, , value] = await this.next('a');
    return value;
  }

  close() {
    this.#socket.destroy();
  }
}

module.exports = { RawClient };
