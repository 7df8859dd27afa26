'use strict';

const { Worker } = require('node:worker_threads');
const { packageFile } = require('../../package-files.js');
const { machineNow } = require('./machine-clock.js');
const { waitInSlices } = require('../wait-in-slices.js');

/** @typedef {{ what: string, argument: unknown[] }} Question */

const PROGRAM = 'backends/broker/sync-thread.js';
const ANSWER_BYTES = 4096;
/** Escaped, a message takes up to six times as many bytes. */
const MAX_MESSAGE_UNITS = 600;
const TOO_LONG = 'The answer of the broker is too long for a blocked thread';
/** What the words of the shared buffer mean: the number of the last answer, its length. */
const NUMBER = 0;
const LENGTH = 1;
const HEAD_BYTES = 8;

/**
 * A thread that speaks to the broker while this one is blocked: with a connection of its own, for
 * the same session.
 */
class SyncHelper {
  #words;
  #bytes;
  #worker;
  #lastNumber = 0;

  /** @param {{ directory: string, bucket: string }} place */
  constructor(place) {
    const buffer = new SharedArrayBuffer(HEAD_BYTES + ANSWER_BYTES);
    this.#words = new Int32Array(buffer, 0, 2);
    this.#bytes = new Uint8Array(buffer, HEAD_BYTES);
    this.#worker = new Worker(packageFile(PROGRAM), {
      workerData: { ...place, buffer },
      execArgv: [],
    });
    this.#worker.unref();
  }

  /**
   * @param {Question} question
   * @param {boolean} isFlushed  this thread's own connection has sent everything
   * @param {number} timeout  in ms, may be Infinity
   * @param {() => object} state  what to tell a broker that may not have heard all
   * @returns {{ isTimeout: boolean, value: any }}
   * @throws DOMException when there is no broker to be had
   */
  call(question, isFlushed, timeout, state) {
    const end = machineNow() + timeout;
    let answer = this.#ask(question, isFlushed ? undefined : state(), timeout);
    // The helper's connection, or its broker, has gone meanwhile: the next one is told everything.
    while (answer?.isLost) {
      answer = this.#ask(question, state(), Math.max(0, end - machineNow()));
    }
    if (answer?.error !== undefined) throw new DOMException(answer.error[1], answer.error[0]);
    return { isTimeout: answer === undefined, value: answer?.value };
  }

  close() {
    this.#worker.terminate();
  }

  /**
   * @param {Question} question
   * @param {object | undefined} state
   * @param {number} timeout
   */
  #ask(question, state, timeout) {
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    this.#worker.postMessage({ number, ...question, state });
    const answered = waitInSlices(timeout, (ms) => this.#await(number, ms));
    if (answered === 'timeout') return undefined;
    const length = this.#words[LENGTH];
    // A copy: a decoder does not take shared bytes.
    return JSON.parse(Buffer.from(this.#bytes.slice(0, length)).toString('utf8'));
  }

  /**
   * @param {number} number
   * @param {number} ms
   * @returns {true | undefined}
   */
  #await(number, ms) {
    const last = Atomics.load(this.#words, NUMBER);
    if (last === number) return true;
    Atomics.wait(this.#words, NUMBER, last, ms);
    return Atomics.load(this.#words, NUMBER) === number ? true : undefined;
  }
}

/**
 * @param {{ value?: any, isLost?: boolean, error?: string[] }} answer
 * @returns {Buffer} for the shared buffer, which has no room for a longer one
 */
function toAnswerBytes(answer) {
  const bytes = Buffer.from(JSON.stringify(answer), 'utf8');
  if (bytes.length <= ANSWER_BYTES) return bytes;
  const [name, message] = answer.error ?? ['InvalidStateError', TOO_LONG];
  return Buffer.from(JSON.stringify({ error: [name, message.slice(0, MAX_MESSAGE_UNITS)] }));
}

module.exports = { SyncHelper, toAnswerBytes, LENGTH, NUMBER, HEAD_BYTES };
