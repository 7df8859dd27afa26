'use strict';

const { Worker } = require('node:worker_threads');
const { BUILD } = require('../../build-id.js');
const { invalidStateError } = require('../../errors.js');
const { packageFile } = require('../../package-files.js');
const { inContextAtLoad } = require('../../time.js');
const { machineNow } = require('./machine-clock.js');
const { outside } = require('../outside.js');
const { waitInSlices } = require('../wait-in-slices.js');

/** @typedef {{ what: string, argument: unknown[] }} Rpc */

const ANSWER_BYTES = 4096;
/** Escaped, a message takes up to six times as many bytes. */
const MAX_MESSAGE_UNITS = 600;
const TOO_LONG = 'The answer of the broker is too long for a blocked thread';
/** The words of the shared buffer: the number of the last answer, its length, a phase. */
const NUMBER = 0;
const LENGTH = 1;
const PHASE = 2;
const HEAD_WORDS = 3;
const HEAD_BYTES = 4 * HEAD_WORDS;

/** The phases of the helper thread, which notes them itself: events of it need a free loop. */
const STARTING = 0;
const RUNNING = 1;
const ENDED = 2;

/**
 * A thread that fails before it runs the first line of ours cannot report anything to a blocked
 * thread: only the time shows it. A start takes less than a tenth of a second, with preloaded
 * modules on a busy machine seconds. If this limit is too short, a request fails and no lock is
 * lost.
 */
const MAX_START_MS = 30_000;

/** @param {Error} error  whose throw ended the thread */
const warnOfEnd = ({ message }) =>
  process.emitWarning(`The helper thread of requestSync() has ended: ${message}`, {
    type: 'HoldfastWarning',
    code: 'HOLDFAST_HELPER',
  });

/**
 * A thread that speaks to the broker while this one is blocked. Its connection is a separate one
 * for the same session. Ends when this is collected.
 */
class SyncHelper {
  #words;
  #bytes;
  #worker;
  #lastNumber = 0;
  #maxStartMs;
  /** How long this thread has waited for the helper's start. */
  #startMs = 0;

  /**
   * @param {{ directory: string, bucket: string }} address
   * @param {number} [maxStartMs]
   */
  constructor({ directory, bucket }, maxStartMs = MAX_START_MS) {
    this.#maxStartMs = maxStartMs;
    const buffer = new SharedArrayBuffer(HEAD_BYTES + ANSWER_BYTES);
    this.#words = new Int32Array(buffer, 0, HEAD_WORDS);
    this.#bytes = new Uint8Array(buffer, HEAD_BYTES);
    this.#worker = inContextAtLoad(
      () =>
        new Worker(packageFile('sync-thread.js'), {
          workerData: { directory, bucket, buffer, build: BUILD },
          execArgv: [],
        }),
    );
    this.#worker.on('error', outside().weakly(warnOfEnd));
    this.#worker.on('exit', outside().weakly(this.#noteEnd));
    this.#worker.unref();
    outside().onCollected(this, this.#worker, 'terminate');
  }

  /** It answers no more. */
  get isOver() {
    return Atomics.load(this.#words, PHASE) === ENDED;
  }

  /**
   * @param {Rpc} rpc
   * @param {boolean} isFlushed  this thread's own connection has sent everything
   * @param {number} timeout  in ms, may be Infinity
   * @param {() => object} state  for a broker that may not have received all of it
   * @returns {{ isTimeout: boolean, value: any }}
   * @throws DOMException when there is no broker to be had, or the helper thread has failed
   */
  call(rpc, isFlushed, timeout, state) {
    const end = machineNow() + timeout;
    this.#awaitStart(); // its start is no silence of the broker
    let answer = this.#call(rpc, isFlushed ? undefined : state(), Math.max(0, end - machineNow()));
    // The helper's connection, or its broker, has gone meanwhile: the next one gets the whole
    // state.
    while (answer?.isLost) {
      answer = this.#call(rpc, state(), Math.max(0, end - machineNow()));
    }
    if (answer?.error !== undefined) throw new DOMException(answer.error[1], answer.error[0]);
    return { isTimeout: answer === undefined, value: answer?.value };
  }

  close() {
    this.#worker.terminate();
  }

  /**
   * @param {Rpc} rpc
   * @param {object | undefined} state
   * @param {number} timeout
   */
  #call(rpc, state, timeout) {
    this.#lastNumber += 1;
    const number = this.#lastNumber;
    this.#worker.postMessage({ number, ...rpc, state });
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
    const phase = Atomics.load(this.#words, PHASE); // first: it may have answered, then ended
    const last = Atomics.load(this.#words, NUMBER);
    if (last === number) return true;
    if (phase === ENDED) throw invalidStateError('The helper thread of requestSync() has ended');
    Atomics.wait(this.#words, NUMBER, last, ms);
    return Atomics.load(this.#words, NUMBER) === number ? true : undefined;
  }

  #awaitStart() {
    waitInSlices(Infinity, (ms) => {
      if (Atomics.load(this.#words, PHASE) !== STARTING) return true;
      this.#startMs += ms; // at most, however long this thread was stopped meanwhile
      if (this.#startMs > this.#maxStartMs) this.#refuseStart();
      Atomics.wait(this.#words, PHASE, STARTING, ms);
      return undefined;
    });
  }

  #refuseStart() {
    this.#noteEnd();
    this.close();
    throw invalidStateError(
      `The helper thread of requestSync() has not started within ${this.#maxStartMs} ms. ` +
        'Modules preloaded by NODE_OPTIONS run in it, too; see the warning for the exception',
    );
  }

  /** The thread could not note its end, for want of memory. */
  #noteEnd = () => void Atomics.store(this.#words, PHASE, ENDED);
}

/**
 * The thread itself notes that it runs, and its end.
 * @param {Int32Array} words
 */
function notePhases(words) {
  Atomics.compareExchange(words, PHASE, STARTING, RUNNING);
  Atomics.notify(words, PHASE);
  process.on('exit', () => Atomics.store(words, PHASE, ENDED));
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

/** @typedef {import('./broker-files.js').BrokerFiles} BrokerFiles */

/**
 * The callback has run, so this replaces its result. It is no loss: the lock may well have been
 * held until now, and the next waiter gets it when the client's own connection is read.
 * @param {string} name
 * @param {Error} cause
 */
const unconfirmedRelease = (name, { message }) =>
  invalidStateError(
    `The callback has returned and the lock '${name}' is being released, but the lock may ` +
      `have been lost before: ${message}`,
  );

/**
 * @typedef {object} BlockedClient  whose thread asks
 * @property {() => void} connect
 * @property {() => boolean} isFlushed  its own connection has sent everything
 * @property {() => object} state  for a broker that may not have received all of it
 */

/** Questions to the broker for which the thread blocks. The first one starts the helper thread. */
class SyncCalls {
  #files;
  #client;
  /** @type {SyncHelper | undefined} */
  #helper = undefined;

  /**
   * @param {BrokerFiles} files
   * @param {BlockedClient} client
   */
  constructor(files, client) {
    this.#files = files;
    this.#client = client;
  }

  /**
   * @param {string} what
   * @param {unknown[]} argument
   * @param {number} [timeout]  in ms
   * @returns {{ isTimeout: boolean, value: any }}
   * @throws DOMException when there is no broker to be had, and what the start of a thread throws
   */
  call(what, argument, timeout = Infinity) {
    const client = this.#client;
    client.connect();
    if (this.#helper === undefined || this.#helper.isOver) {
      const { directory, bucket } = this.#files;
      this.#helper = new SyncHelper({ directory, bucket });
    }
    const isFlushed = client.isFlushed();
    return this.#helper.call({ what, argument }, isFlushed, timeout, client.state);
  }

  /**
   * The same, if the thread continues whether the broker receives the message or not.
   * @param {string} what
   * @param {unknown[]} argument
   * @param {number} timeout
   */
  send(what, argument, timeout) {
    try {
      this.call(what, argument, timeout);
    } catch {
      // The caller also sends the message by the client's own connection.
    }
  }

  close() {
    this.#helper?.close();
    this.#helper = undefined;
  }
}

module.exports = {
  HEAD_BYTES,
  HEAD_WORDS,
  LENGTH,
  NUMBER,
  TOO_LONG,
  SyncHelper,
  notePhases,
  toAnswerBytes,
  SyncCalls,
  unconfirmedRelease,
};
