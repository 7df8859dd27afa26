'use strict';

const net = require('node:net');
const { lazy } = require('../../lazy.js');

/** @typedef {(bytes: Buffer, length: number) => void} OnBytes  the first `length` of them count */

const { bun, deno } = process.versions;
const isNode = bun === undefined && deno === undefined;

const BUFFER_BYTES = 2 ** 16;
/** Of all connections of the thread: what one reading has brought is used before the next one. */
const sharedBuffer = lazy(() => Buffer.allocUnsafeSlow(BUFFER_BYTES));

/**
 * A client's end of a connection. On Node it reads without a readable stream and its buffers, which
 * saves a tenth of a round trip.
 */
class ClientSocket {
  socket;
  /** @type {OnBytes} */
  #onBytes = () => {};

  /** @param {string} path */
  constructor(path) {
    this.socket = isNode ? net.connect({ path, onread: this.#onRead() }) : net.connect(path);
    this.socket.unref();
  }

  #onRead() {
    const callback = (/** @type {number} */ length, /** @type {Uint8Array} */ bytes) => {
      this.#onBytes(/** @type {Buffer} */ (bytes), length);
      return true; // goes on
    };
    return { buffer: sharedBuffer(), callback };
  }

  /**
   * To be called in the turn of the loop in which the connection came up, before anything is read.
   * @param {OnBytes} onBytes
   */
  read(onBytes) {
    this.#onBytes = onBytes;
    if (!isNode)
      this.socket.on('data', (bytes) => onBytes(/** @type {any} */ (bytes), bytes.length));
  }
}

module.exports = { ClientSocket };
