'use strict';

const { MessageChannel, Worker, receiveMessageOnPort } = require('node:worker_threads');
const { packageFile } = require('../../package-files.js');
const { performance } = require('../../time.js');

/** A thread that is blocked looks up so often: a worker can be terminated then. */
const SLICE_MS = 50;

/** The way to the thread of a session, which can be waited for with the own thread blocked. */
class SessionLink {
  #port;
  #onMessage;
  /** How many messages the session's thread has sent. */
  #signal = new Int32Array(new SharedArrayBuffer(4));
  isOver = false;

  /**
   * @param {object} data  for the thread
   * @param {(message: any) => void} onMessage
   * @param {(error: Error) => void} onError  the thread has failed
   */
  constructor(data, onMessage, onError) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.#onMessage = onMessage;
    const worker = new Worker(packageFile('backends/etcd/session-thread.js'), {
      name: 'holdfast etcd session',
      workerData: { ...data, port: port2, signal: this.#signal },
      transferList: [port2],
      execArgv: [],
    });
    worker.unref();
    worker.on('error', (error) => {
      this.isOver = true;
      onError(error);
    });
    port1.on('message', (message) => this.#receive(message, onMessage));
    port1.unref();
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
   * Handles messages, with the thread blocked, until it is enough.
   * @param {number} timeout  in milliseconds
   * @param {() => boolean} isEnough
   * @param {(message: any) => void} [onMessage]
   */
  block(timeout, isEnough, onMessage = this.#onMessage) {
    const end = performance.now() + timeout;
    for (;;) {
      const seen = Atomics.load(this.#signal, 0);
      for (;;) {
        const received = receiveMessageOnPort(this.#port);
        if (received === undefined) break;
        this.#receive(received.message, onMessage);
      }
      const left = end - performance.now();
      if (isEnough() || left <= 0 || this.isOver) return;
      Atomics.wait(this.#signal, 0, seen, Math.min(left, SLICE_MS));
    }
  }

  /**
   * @param {any} message
   * @param {(message: any) => void} onMessage
   */
  #receive(message, onMessage) {
    if (message.type === 'closed') {
      this.isOver = true;
      this.#port.close();
    }
    onMessage(message);
  }
}

module.exports = { SessionLink };
