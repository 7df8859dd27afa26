'use strict';

// The helper thread of requestSync(): speaks to the broker for a thread that is blocked. It sends
// the questions that it gets, one after the other, and writes the answers to a shared buffer.

const { parentPort, workerData } = require('node:worker_threads');
const { checkBuild } = require('../../build-id.js');
const { machineNow } = require('./machine-clock.js');
const { Link } = require('./link.js');
const { BrokerFiles } = require('./broker-files.js');
const { helloMessages } = require('./wire.js');
const {
  HEAD_BYTES,
  HEAD_WORDS,
  LENGTH,
  NUMBER,
  TOO_LONG,
  notePhases,
  toAnswerBytes,
} = require('./sync-helper.js');

/**
 * @typedef {object} Question
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
  #words;
  #bytes;
  #link;
  /** @type {Question | undefined} that waits for its answer */
  #question = undefined;
  /** @type {any} */
  #state = undefined;

  /**
   * @param {object} data
   * @param {SharedArrayBuffer} data.buffer
   * @param {string} data.build
   * @param {string} data.directory
   * @param {string} data.bucket
   */
  constructor({ buffer, build, directory, bucket }) {
    this.#words = new Int32Array(buffer, 0, HEAD_WORDS);
    notePhases(this.#words);
    checkBuild(build);
    this.#bytes = new Uint8Array(buffer, HEAD_BYTES);
    this.#link = new Link(new BrokerFiles(bucket, directory), {
      hello: () => [...this.#hello(), ...this.#questionMessages()],
      onMessage: ([kind, ...rest]) => {
        if (kind === 'over') this.#onOver(rest);
        else this.#receive(kind, rest[0], rest[1], rest[2]);
      },
      // This thread may know less of the client by now than the next broker needs.
      onClose: () => this.#answer({ isLost: true }),
      onFailure: ({ name, message }) => this.#answer({ error: [name, message] }),
    });
  }

  /** @param {Question} question */
  ask(question) {
    this.#question = question;
    if (question.state !== undefined) this.#state = question.state;
    if (!this.#link.isOpen) {
      if (question.state === undefined) this.#answer({ isLost: true });
      else this.#link.open();
      return;
    }
    if (question.state !== undefined) for (const said of this.#hello()) this.#link.send(said);
    for (const message of this.#questionMessages()) this.#link.send(message);
  }

  /**
   * All that the client has, by the broker's clock.
   * @returns {unknown[][]}
   */
  #hello() {
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
    return [...opened, ...helloMessages({ ...state, requests }, true)];
  }

  /**
   * @param {string} kind
   * @param {number} call
   * @param {any} value
   * @param {string} message
   */
  #receive(kind, call, value, message) {
    if (call !== this.#question?.number) return;
    if (kind === 'a') this.#answer(toAnswer(value));
    else if (kind === 'x') this.#answer({ error: [value, message] });
    else if (kind === 'p') this.#answer({ error: ['InvalidStateError', TOO_LONG] });
  }

  /** @param {any[]} message  see wire.js */
  #onOver([name, message, knownUpTo]) {
    if (knownUpTo === undefined) return this.#answer({ error: [name, message] });
    this.#link.close(); // the next question goes to the broker in the new directory
    this.#answer({ isLost: true });
  }

  /** @returns {unknown[][]} */
  #questionMessages() {
    if (this.#question === undefined) return [];
    const { number, what, argument } = this.#question;
    return [['?', number, what, this.#link.toBrokerTime(machineNow()), argument]];
  }

  /** @param {{ value?: any, isLost?: boolean, error?: string[] }} answer */
  #answer(answer) {
    if (this.#question === undefined) return;
    const { number } = this.#question;
    this.#question = undefined;
    const bytes = toAnswerBytes(answer);
    this.#bytes.set(bytes);
    this.#words[LENGTH] = bytes.length;
    Atomics.store(this.#words, NUMBER, number);
    Atomics.notify(this.#words, NUMBER);
  }
}

const thread = new SyncThread(workerData);
/** @type {import('node:worker_threads').MessagePort} */ (parentPort).on('message', (question) =>
  thread.ask(question),
);
