'use strict';

// The helper thread of requestSync(): speaks to the broker for a thread that is blocked. It sends
// the questions that it gets, one after the other, and posts the answers.

const { workerData } = require('node:worker_threads');
const { checkBuild } = require('../../build-id.js');
const { SharedState } = require('../remote/shared-state.js');
const { machineNow } = require('./machine-clock.js');
const { Link } = require('./link.js');
const { BrokerFiles } = require('./broker-files.js');
const { handshakeMessages } = require('./wire.js');

/**
 * @typedef {object} Rpc
 * @property {number} number
 * @property {string} what
 * @property {unknown[]} argument
 * @property {any} [state]  all that the client has, by its own clock; where its own connection may
 *   not have sent everything
 */

/**
 * A broker that does not know the request has replaced the broker that received it. The new broker
 * needs the whole state, as after a lost connection.
 * @param {any} value
 */
const toAnswer = (value) => (value?.[0] === 'unknown' ? { isLost: true } : { value });

/** Questions have larger numbers: the answer to such a call is dropped. */
const NO_CALL = 0;

class SyncThread {
  #post;
  #link;
  /** @type {Rpc | undefined} that waits for its answer */
  #rpc = undefined;
  /** @type {any[]} the pages of its answer, before the last one */
  #items = [];
  /** @type {any} */
  #state = undefined;

  /**
   * @param {{ directory: string, bucket: string }} address
   * @param {(message: object) => void} post
   */
  constructor({ directory, bucket }, post) {
    this.#post = post;
    this.#link = new Link(new BrokerFiles(bucket, directory), {
      handshake: () => [...this.#handshake(), ...this.#rpcMessages()],
      onMessage: ([kind, ...rest]) => {
        if (kind === 'over') this.#onOver(rest);
        else this.#receive(kind, rest[0], rest[1], rest[2]);
      },
      // This thread may know less of the client by now than the next broker needs.
      onClose: () => this.#answer({ isLost: true }),
      onFailure: ({ name, message }) => this.#answer({ error: [name, message] }),
    });
  }

  /** @param {Rpc} rpc */
  call(rpc) {
    this.#rpc = rpc;
    this.#items = [];
    if (rpc.state !== undefined) this.#state = rpc.state;
    if (!this.#link.isOpen) {
      if (rpc.state === undefined) this.#answer({ isLost: true });
      else this.#link.open();
      return;
    }
    if (rpc.state !== undefined) for (const said of this.#handshake()) this.#link.send(said);
    for (const message of this.#rpcMessages()) this.#link.send(message);
  }

  /**
   * All that the client has, by the broker's clock.
   * @returns {unknown[][]}
   */
  #handshake() {
    const { watches, ...state } = this.#state;
    const opened = watches.map((/** @type {any[]} */ [t, argument]) => {
      return ['?', NO_CALL, 'watch', this.#link.toBrokerTime(t), argument];
    });
    const requests = state.requests.map(
      (/** @type {any[]} */ [view, [id, name, flags, t, extras], high, low, at]) => [
        view,
        [id, name, flags, this.#link.toBrokerTime(t), extras],
        high,
        low,
        this.#link.toBrokerTime(at),
      ],
    );
    return [...opened, ...handshakeMessages({ ...state, requests }, true)];
  }

  /**
   * @param {string} kind
   * @param {number} call
   * @param {any} value
   * @param {any} message
   */
  #receive(kind, call, value, message) {
    if (call !== this.#rpc?.number) return;
    if (kind === 'x') this.#answer({ error: [value, message] });
    else if (kind === 'p') for (const item of message) this.#items.push(item);
    else if (kind === 'a')
      this.#answer(toAnswer(this.#items.length === 0 ? value : this.#items.concat(value)));
  }

  /** @param {any[]} message  see wire.js */
  #onOver([name, message, knownUpTo]) {
    if (knownUpTo === undefined) return this.#answer({ error: [name, message] });
    this.#link.close(); // the next rpc goes to the broker in the new directory
    this.#answer({ isLost: true });
  }

  /** @returns {unknown[][]} */
  #rpcMessages() {
    if (this.#rpc === undefined) return [];
    const { number, what, argument } = this.#rpc;
    return [['?', number, what, this.#link.toBrokerTime(machineNow()), argument]];
  }

  /** @param {{ value?: any, isLost?: boolean, error?: string[] }} answer */
  #answer(answer) {
    if (this.#rpc === undefined) return;
    const { number } = this.#rpc;
    this.#rpc = undefined;
    this.#post({ number, answer });
  }

  close() {
    this.#link.close();
  }
}

const { port, state: buffer, build, directory, bucket } = workerData;
const state = new SharedState(buffer);
state.noteStart();
checkBuild(build);
const thread = new SyncThread({ directory, bucket }, (message) => {
  port.postMessage(message);
  state.noteMessage();
});
port.on('message', (/** @type {any} */ { type, rpc }) => {
  if (type === 'call') return thread.call(rpc);
  thread.close();
  return port.close();
});
