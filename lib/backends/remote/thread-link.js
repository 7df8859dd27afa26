'use strict';

const { MessageChannel, Worker, receiveMessageOnPort } = require('node:worker_threads');
const { BUILD } = require('../../build-id.js');
const { invalidStateError } = require('../../errors.js');
const { packageFile } = require('../../package-files.js');
const { RESOLVED, apply, inContextAtLoad, setImmediate, then } = require('../../time.js');
const { outside } = require('../outside.js');
const { waitInSlices } = require('../wait-in-slices.js');
const { SharedState } = require('./shared-state.js');

/**
 * A thread that fails before it runs the first line of ours cannot report anything to a blocked
 * thread: only the time shows it. A start takes less than a tenth of a second, with preloaded
 * modules on a busy machine seconds. If this limit is too short, a request fails and no lock is
 * lost.
 */
const MAX_START_MS = 30_000;
/** Messages that leave together, at most: an agent may make thousands of requests at once. */
const MAX_LATE = 100;

/**
 * @param {string} title
 * @param {Error} error  whose throw ended the thread
 */
const warnOfEnd = (title, { message }) =>
  process.emitWarning(`${title} has ended: ${message}`, {
    type: 'HoldfastWarning',
    code: 'HOLDFAST_HELPER',
  });

/**
 * @typedef {object} ThreadProgram
 * @property {'session-thread.js' | 'sync-thread.js'} file
 * @property {string} title  in warnings
 * @property {string} [name]  of the thread
 */

/**
 * The way to a thread that can be waited for with the own thread blocked. It is asked to end when
 * this is collected.
 */
class ThreadLink {
  #title;
  #port;
  #worker;
  #onMessage;
  #maxStartMs;
  /** How long this thread has waited for the start of the other one. */
  #startMs = 0;
  /** Messages that leave together. @type {object[]} */
  #late = [];
  /** Shared with the thread. */
  state = new SharedState();
  /** It answers no more. */
  isOver = false;

  /**
   * @param {ThreadProgram} program
   * @param {object} data  for the thread
   * @param {(message: any) => void} onMessage  the last one is `closed`, or `over` with an error
   *   if the thread has ended without that
   * @param {number} [maxStartMs]
   * @throws DOMException (InvalidStateError) when no thread is left: the next call tries again
   */
  constructor({ file, title, name }, data, onMessage, maxStartMs = MAX_START_MS) {
    const { clone, onCollected, weakly } = outside();
    this.#onMessage = onMessage;
    this.#maxStartMs = maxStartMs;
    this.#title = title;
    const { port1, port2 } = inContextAtLoad(() => new MessageChannel());
    this.#port = port1;
    const options = {
      name,
      workerData: { ...data, build: BUILD, port: port2, state: this.state.buffer },
      transferList: [port2],
      execArgv: [],
    };
    const program = packageFile(file);
    try {
      this.#worker = inContextAtLoad(() => new Worker(program, options));
    } catch (error) {
      port1.close();
      const { message } = /** @type {Error} */ (error);
      throw invalidStateError(`${title} cannot be started: ${message}`);
    }
    this.#worker.unref();
    this.#worker.on('error', weakly(this.#onError));
    this.#worker.on('exit', weakly(this.#onExit));
    port1.on('message', weakly(this.#onPortMessage));
    port1.unref();
    onCollected(this, port1, 'postMessage', clone({ type: 'close' }));
  }

  #onError = (/** @type {Error} */ error) => {
    warnOfEnd(this.#title, error);
    this.#onEnd(error);
  };

  #onExit = () => this.#onEnd(new Error('its thread has ended'));

  #onPortMessage = (/** @type {any} */ message) => this.#receive(message, this.#onMessage);

  /**
   * @param {object} message
   * @param {boolean} [isLate]  it leaves with the next message, at the end of this iteration of the
   *   event loop, or before this thread waits for the other one: a callback that makes a request
   *   and then ends is one message. The other thread, which a message wakes, may take the
   *   processor from this one.
   */
  post(message, isLate = false) {
    if (!isLate && this.#late.length === 0) return this.#port.postMessage(message);
    this.#late.push(message);
    if (!isLate || this.#late.length === MAX_LATE) return this.#flush();
    if (this.#late.length > 1) return;
    void apply(then, RESOLVED, [() => setImmediate(() => this.#flush())]);
  }

  #flush() {
    if (this.#late.length === 0) return;
    this.#port.postMessage({ type: 'several', messages: this.#late });
    this.#late = [];
  }

  /** Keeps the event loop alive until the thread has closed. */
  ref() {
    this.#port.ref();
  }

  /** The event loop may end before. */
  unref() {
    this.#port.unref();
  }

  /**
   * Handles messages, with the thread blocked, until it is enough, or the other thread has ended.
   * @param {number} timeout  in milliseconds
   * @param {() => boolean} isEnough
   * @param {(message: any) => void} [onMessage]
   */
  block(timeout, isEnough, onMessage = this.#onMessage) {
    waitInSlices(timeout, (ms) => {
      const { hasEnded } = this.state; // first: it may have sent something, then ended
      const seen = this.state.messageCount;
      this.#receiveAll(onMessage);
      if (isEnough() || this.isOver) return true;
      this.#flush();
      if (hasEnded) this.#fail(new Error('its thread has ended'), onMessage);
      else this.#await(seen, ms, onMessage);
      return undefined;
    });
  }

  /**
   * @param {number} seen  messages
   * @param {number} ms
   * @param {(message: any) => void} onMessage
   */
  #await(seen, ms, onMessage) {
    if (!this.state.hasStarted) this.#startMs += ms; // at most, however long this was stopped
    if (this.#startMs <= this.#maxStartMs) {
      this.state.awaitMessage(seen, ms);
      return;
    }
    void this.#worker.terminate();
    const error = new Error(
      `its thread has not started within ${this.#maxStartMs} ms. ` +
        'Modules preloaded by NODE_OPTIONS run in it, too; see the warning for the exception',
    );
    this.#fail(error, onMessage);
  }

  /** @param {(message: any) => void} onMessage */
  #receiveAll(onMessage) {
    for (;;) {
      const received = receiveMessageOnPort(this.#port);
      if (received === undefined) return;
      this.#receive(received.message, onMessage);
    }
  }

  /**
   * @param {any} message
   * @param {(message: any) => void} onMessage
   */
  #receive(message, onMessage) {
    if (message.type === 'closed') this.#end();
    onMessage(message);
  }

  /** @param {Error} error  unless it was closed */
  #onEnd(error) {
    this.#receiveAll(this.#onMessage);
    this.#fail(error, this.#onMessage);
  }

  /**
   * @param {Error} error
   * @param {(message: any) => void} onMessage
   */
  #fail(error, onMessage) {
    if (this.isOver) return;
    this.#end();
    onMessage({ type: 'over', error });
  }

  #end() {
    this.isOver = true;
    this.#port.close();
  }
}

module.exports = { ThreadLink };
