'use strict';

const { MessageChannel, Worker, receiveMessageOnPort } = require('node:worker_threads');
const { BUILD } = require('../../build-id.js');
const { packageFile } = require('../../package-files.js');
const { inContextAtLoad, performance } = require('../../time.js');
const { outside } = require('../outside.js');
const { SharedState } = require('./shared-state.js');

/** A thread that is blocked looks up so often: a worker can be terminated then. */
const SLICE_MS = 50;

/**
 * A thread that fails before it runs the first line of ours cannot report anything to a blocked
 * thread: only the time shows it. See the helper of the broker.
 */
const MAX_START_MS = 30_000;

/**
 * @param {string} engine
 * @param {Error} error  whose throw ended the thread
 */
const warnOfEnd = (engine, { message }) =>
  process.emitWarning(`The thread of the session with ${engine} has ended: ${message}`, {
    type: 'HoldfastWarning',
    code: 'HOLDFAST_HELPER',
  });

/**
 * The way to the thread of a session, which can be waited for with the own thread blocked. The
 * session is closed when this is collected.
 */
class SessionLink {
  #engine;
  #port;
  #worker;
  #onMessage;
  #state = new SharedState();
  #maxStartMs;
  /** How long this thread has waited for the start of the other one. */
  #startMs = 0;
  isOver = false;

  /**
   * @param {{ engine: string }} data  for the thread
   * @param {(message: any) => void} onMessage  the last one is `closed`, or `over` with an error
   *   if the thread has ended without close()
   * @param {number} [maxStartMs]
   */
  constructor(data, onMessage, maxStartMs = MAX_START_MS) {
    const { clone, onCollected, weakly } = outside();
    this.#onMessage = onMessage;
    this.#maxStartMs = maxStartMs;
    this.#engine = data.engine;
    const { port1, port2 } = inContextAtLoad(() => new MessageChannel());
    this.#port = port1;
    const options = {
      name: `holdfast ${data.engine} session`,
      workerData: { ...data, build: BUILD, port: port2, state: this.#state.buffer },
      transferList: [port2],
      execArgv: [],
    };
    this.#worker = inContextAtLoad(() => new Worker(packageFile('session-thread.js'), options));
    this.#worker.unref();
    this.#worker.on('error', weakly(this.#onError));
    this.#worker.on('exit', weakly(this.#onExit));
    port1.on('message', weakly(this.#onPortMessage));
    port1.unref();
    onCollected(this, port1, 'postMessage', clone({ type: 'close' }));
  }

  #onError = (/** @type {Error} */ error) => {
    warnOfEnd(this.#engine, error);
    this.#onEnd(error);
  };

  #onExit = () => this.#onEnd(new Error('its thread has ended'));

  #onPortMessage = (/** @type {any} */ message) => this.#receive(message, this.#onMessage);

  /** The buffer that the thread shares with this one. */
  get shared() {
    return this.#state.buffer;
  }

  /** It is lost, as far as this side knows. @param {string} session */
  isSessionOver(session) {
    return this.#state.isSessionOver(session);
  }

  /** There is a session that is valid. */
  get hasSession() {
    const { session } = this.#state;
    return session !== undefined && !this.#state.isSessionOver(session);
  }

  /** @param {object} message */
  post(message) {
    this.#port.postMessage(message);
  }

  /** Keeps the event loop alive until the session has ended. */
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
    const end = performance.now() + timeout;
    for (;;) {
      const { hasEnded } = this.#state; // first: it may have sent something, then ended
      const seen = this.#state.messageCount;
      this.#receiveAll(onMessage);
      const left = end - performance.now();
      if (isEnough() || left <= 0 || this.isOver) return;
      if (hasEnded) this.#fail(new Error('its thread has ended'), onMessage);
      else this.#await(seen, Math.min(left, SLICE_MS), onMessage);
    }
  }

  /**
   * @param {number} seen  messages
   * @param {number} ms
   * @param {(message: any) => void} onMessage
   */
  #await(seen, ms, onMessage) {
    if (!this.#state.hasStarted) this.#startMs += ms;
    if (this.#startMs <= this.#maxStartMs) {
      this.#state.awaitMessage(seen, ms);
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

module.exports = { SessionLink };
