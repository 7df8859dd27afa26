'use strict';

const { clearTimeout, dateNow, setTimeout } = require('../../time.js');
const { loadServices } = require('./grpc-library.js');

/** @typedef {import('./cluster-options.js').ClusterOptions} ClusterOptions */

/** gRPC's status codes that leave open whether the request was carried out. */
const CANCELLED = 1;
const UNKNOWN = 2;
const DEADLINE_EXCEEDED = 4;
const INTERNAL = 13;
const UNAVAILABLE = 14;
const IN_DOUBT = [CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, INTERNAL, UNAVAILABLE];

/** The server's message for an authentication token that has become invalid. */
const STALE_TOKEN = /invalid auth token|auth store is old/;

/**
 * Proxies are for the web: a lock goes to the cluster itself. A call that has failed is tried again
 * here and nowhere else, because only the session knows what has to be asked before.
 */
const CHANNEL_OPTIONS = {
  'grpc.enable_http_proxy': 0,
  'grpc.enable_retries': 0,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.max_receive_message_length': -1,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
};

/** An answer of the cluster, or none, that is no success. */
class EtcdError extends Error {
  /**
   * @param {number} code  of gRPC
   * @param {string} details
   * @param {string} endpoint
   */
  constructor(code, details, endpoint) {
    super(`${details} (${endpoint})`);
    this.name = 'EtcdError';
    this.code = code;
    this.details = details;
  }

  /** The request may have been carried out, or may still be. */
  get isInDoubt() {
    return IN_DOUBT.includes(this.code);
  }

  /** The request can never be carried out like this; nothing has changed. */
  get isFinal() {
    return !this.isInDoubt && !this.isLeaseGone && !this.details.includes('too many requests');
  }

  /** Whether the member has answered, rather than the connection failed. */
  get isAnswer() {
    return this.details.startsWith('etcdserver: ');
  }

  get isLeaseGone() {
    return this.details.includes('requested lease not found');
  }
}

/**
 * One connection at a time to one of the members. Calls are tried once; a failure of the connection
 * makes the next call go to the next member.
 */
class EtcdClient {
  #place;
  #library = loadServices();
  #credentials;
  #current = 0;
  /** @type {Map<string, any>} the services of the current connection */
  #stubs = new Map();
  /** @type {string | undefined} of authentication */
  #token;
  /** @type {Promise<void> | undefined} */
  #authentication;
  /** What metrics show. */
  counts = { calls: 0, failures: 0, reconnects: 0, authentications: 0 };

  /** @param {ClusterOptions} place */
  constructor(place) {
    this.#place = place;
    const { credentials } = this.#library.grpc;
    const toBuffer = (/** @type {Uint8Array | undefined} */ it) => (it ? Buffer.from(it) : null);
    this.#credentials = place.isEncrypted
      ? credentials.createSsl(toBuffer(place.ca), toBuffer(place.key), toBuffer(place.cert))
      : credentials.createInsecure();
    // Sessions spread over the members.
    this.#current = Math.floor(Math.random() * place.endpoints.length);
  }

  get endpoint() {
    return this.#place.endpoints[this.#current];
  }

  /**
   * @param {'KV' | 'Lease' | 'Maintenance' | 'Auth'} service
   * @param {string} method
   * @param {object} request
   * @param {number} timeoutMs
   * @returns {Promise<any>}
   * @throws EtcdError (rejects)
   */
  async call(service, method, request, timeoutMs) {
    await this.#authenticate(timeoutMs);
    try {
      return await this.#callOnce(service, method, request, timeoutMs);
    } catch (error) {
      if (!STALE_TOKEN.test(/** @type {EtcdError} */ (error).details ?? '')) throw error;
      this.#token = undefined;
      await this.#authenticate(timeoutMs);
      return this.#callOnce(service, method, request, timeoutMs);
    }
  }

  /**
   * @param {'Watch' | 'Lease'} service
   * @param {string} method
   * @param {number} timeoutMs
   * @returns {Promise<any>} a duplex stream
   */
  async openStream(service, method, timeoutMs) {
    await this.#authenticate(timeoutMs);
    return this.#stubOf(service)[method](this.#metadata());
  }

  /**
   * The token that streams were opened with is worth nothing any more.
   */
  forgetToken() {
    this.#token = undefined;
  }

  /**
   * Leaves a member that does not answer.
   * @param {string} endpoint  that was found silent; no effect when another is current
   */
  leave(endpoint) {
    if (endpoint !== this.endpoint) return;
    this.counts.reconnects += 1;
    this.#closeStubs();
    this.#current = (this.#current + 1) % this.#place.endpoints.length;
  }

  close() {
    this.#closeStubs();
  }

  /**
   * A member that answers but has no leader is left where there is another one.
   * @param {EtcdError} failure
   * @param {string} endpoint
   */
  #judge(failure, endpoint) {
    if (!failure.isInDoubt) return;
    if (!failure.isAnswer || this.#place.endpoints.length > 1) this.leave(endpoint);
  }

  #closeStubs() {
    for (const stub of this.#stubs.values()) stub.close();
    this.#stubs.clear();
  }

  /** @param {string} service */
  #stubOf(service) {
    let stub = this.#stubs.get(service);
    if (stub === undefined) {
      const [first] = this.#stubs.values();
      const Service = /** @type {any} */ (this.#library.services)[service];
      stub = new Service(this.endpoint, this.#credentials, {
        ...CHANNEL_OPTIONS,
        // One connection for all services.
        ...(first === undefined ? {} : { channelOverride: first.getChannel() }),
      });
      this.#stubs.set(service, stub);
    }
    return stub;
  }

  #metadata() {
    const metadata = new this.#library.grpc.Metadata();
    metadata.set('hasleader', 'true'); // a member without a leader says so instead of waiting
    if (this.#token !== undefined) metadata.set('token', this.#token);
    return metadata;
  }

  /**
   * @param {string} service
   * @param {string} method
   * @param {object} request
   * @param {number} timeoutMs
   * @returns {Promise<any>}
   */
  #callOnce(service, method, request, timeoutMs) {
    const { endpoint } = this;
    this.counts.calls += 1;
    return new Promise((resolve, reject) => {
      const done = (/** @type {any} */ error, /** @type {any} */ response) => {
        if (error === null) {
          resolve(response);
          return;
        }
        this.counts.failures += 1;
        const failure = new EtcdError(error.code, error.details ?? error.message, endpoint);
        this.#judge(failure, endpoint);
        reject(failure);
      };
      const options = { deadline: dateNow() + timeoutMs };
      const call = this.#stubOf(service)[method](
        request,
        this.#metadata(),
        options,
        (/** @type {any} */ error, /** @type {any} */ response) => {
          clearTimeout(timer);
          done(error, response);
        },
      );
      // The deadline above is by the wall clock, which may be set back.
      const timer = setTimeout(() => call.cancel(), timeoutMs + 100);
    });
  }

  /** @param {number} timeoutMs */
  async #authenticate(timeoutMs) {
    const { user, password } = this.#place;
    if (user === undefined || password === undefined || this.#token !== undefined) return;
    this.#authentication ??= this.#callOnce(
      'Auth',
      'Authenticate',
      { name: user, password },
      timeoutMs,
    )
      .then(({ token }) => {
        this.counts.authentications += 1;
        this.#token = token;
      })
      .finally(() => {
        this.#authentication = undefined;
      });
    await this.#authentication;
  }
}

module.exports = { EtcdClient, EtcdError };
