'use strict';

const { clearTimeout, dateNow, setTimeout } = require('../../time.js');
const { EtcdError } = require('./etcd-errors.js');

/** @typedef {import('./grpc-library.js').Services} Library */

/**
 * @typedef {object} Call
 * @property {string} service
 * @property {string} method
 * @property {object} request
 * @property {object} metadata
 * @property {number} timeoutMs
 */

/** gRPC's states of a connection. */
const READY = 2;
const TRANSIENT_FAILURE = 3;
const SHUTDOWN = 4;

/**
 * Proxies are for the web: a lock goes to the cluster itself. A call that has failed is tried again
 * by the session and nowhere else, because only the session knows what has to be asked before.
 */
const CHANNEL_OPTIONS = {
  'grpc.enable_http_proxy': 0,
  'grpc.enable_retries': 0,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.max_receive_message_length': -1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
};

/**
 * A connection to one member. A connection that was left ends with the last of its calls, and
 * breaks none.
 */
class Connection {
  #services;
  /** @type {any} of all services */
  #client;
  #onClosed;
  /** @type {Set<{ cancel: () => void }>} under way */
  #calls = new Set();
  #isLeft = false;

  /**
   * @param {Library} library
   * @param {object} credentials
   * @param {string} endpoint
   * @param {(connection: Connection) => void} onClosed
   */
  constructor(library, credentials, endpoint, onClosed) {
    this.#services = /** @type {Record<string, any>} */ (library.services);
    this.#client = new library.grpc.Client(endpoint, credentials, CHANNEL_OPTIONS);
    this.endpoint = endpoint;
    this.#onClosed = onClosed;
  }

  /**
   * Whether the member has answered within that time.
   * @param {number} ms
   */
  async isReadyWithin(ms) {
    const channel = this.#client.getChannel();
    const until = dateNow() + ms;
    for (;;) {
      const state = channel.getConnectivityState(true);
      if (state === READY) return true;
      if (state === TRANSIENT_FAILURE || state === SHUTDOWN) return false;
      const error = await new Promise((resolve) =>
        channel.watchConnectivityState(state, until, resolve),
      );
      if (error !== undefined) return false;
    }
  }

  /**
   * @param {Call} call
   * @returns {Promise<any>}
   * @throws EtcdError (rejects)
   */
  call({ service, method, request, metadata, timeoutMs }) {
    return new Promise((resolve, reject) => {
      const call = this.#methodOf(service, method)(
        request,
        metadata,
        (/** @type {any} */ error, /** @type {any} */ response) => {
          clearTimeout(timer);
          this.#forget(call);
          if (error === null) resolve(response);
          else reject(this.toError(error));
        },
      );
      this.#calls.add(call);
      // A deadline of gRPC would be by the wall clock, which may be set.
      const timer = setTimeout(() => call.cancel(), timeoutMs);
    });
  }

  /**
   * @param {string} service
   * @param {string} method
   * @param {object} metadata
   * @returns {any} a duplex stream
   */
  openStream(service, method, metadata) {
    const stream = this.#methodOf(service, method)(metadata);
    this.#calls.add(stream);
    stream.on('error', () => {}); // 'status' follows
    stream.on('status', () => this.#forget(stream));
    return stream;
  }

  /** No further call will come. */
  leave() {
    this.#isLeft = true;
    if (this.#calls.size === 0) this.close();
  }

  /** Ends all its calls. */
  close() {
    for (const call of this.#calls) call.cancel();
    this.#client.close();
    this.#onClosed(this);
  }

  /** @param {{ cancel: () => void }} call */
  #forget(call) {
    this.#calls.delete(call);
    if (this.#isLeft && this.#calls.size === 0) this.close();
  }

  /** @param {{ code: number, details?: string, message: string }} error  of gRPC */
  toError({ code, details, message }) {
    return new EtcdError(code, details ?? message, this.endpoint);
  }

  /** @param {string} service @param {string} method */
  #methodOf(service, method) {
    return this.#services[service].prototype[method].bind(this.#client);
  }
}

module.exports = { Connection };
