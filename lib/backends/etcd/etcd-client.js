'use strict';

const { readFile } = require('node:fs/promises');
const { Connection } = require('./connection.js');
const { EtcdError, UNAVAILABLE } = require('./etcd-errors.js');
const { invalidStateError } = require('../../errors.js');
const { FirstAnswer } = require('./session-calls.js');
const { loadServices } = require('./grpc-library.js');
const { steadyNow } = require('../remote/steady-clock.js');

/** @typedef {import('./cluster-options.js').ClusterOptions} ClusterOptions */
/** @typedef {import('./grpc-library.js').Services} Library */

/** The end of a whole PEM file. */
const END = '-----END ';

/**
 * The secrets by which a client proves its identity. Secrets in files are read again, because their
 * issuer renews them. The last good ones are used until then, and if a file is away, is cut off, or
 * does not fit another one. The thread of a session waits for no file system.
 */
class Secrets {
  #options;
  #factory;
  #credentials;
  #password;
  #isReading = false;

  /**
   * @param {ClusterOptions} options
   * @param {Library} library
   * @throws what is wrong with them
   */
  constructor(options, { grpc }) {
    this.#options = options;
    this.#factory = grpc.credentials;
    const { isEncrypted, ca, key, cert } = options;
    this.#credentials = isEncrypted
      ? this.#createSsl([ca, key, cert])
      : this.#factory.createInsecure();
    this.#password = options.password;
  }

  /** For a connection that begins; those in files are as they were when the last one began. */
  get credentials() {
    void this.#readCredentials();
    return this.#credentials;
  }

  /** @returns {Promise<string | undefined>} */
  async readPassword() {
    const { password } = this.#options.files;
    if (password === undefined) return this.#password;
    const text = await readFile(password, 'utf8').catch(() => '');
    this.#password = text.trimEnd() || this.#password;
    return this.#password;
  }

  async #readCredentials() {
    const { ca, key, cert } = this.#options.files;
    const isInFiles = ca !== undefined || key !== undefined || cert !== undefined;
    if (this.#isReading || !isInFiles) return;
    this.#isReading = true;
    try {
      const all = /** @type {const} */ (['ca', 'key', 'cert']).map((what) => this.#read(what));
      this.#credentials = this.#createSsl(await Promise.all(all));
    } catch {
      // The last ones are taken.
    }
    this.#isReading = false;
  }

  /** @param {'ca' | 'key' | 'cert'} what */
  async #read(what) {
    const file = this.#options.files[what];
    if (file === undefined) return this.#options[what];
    const bytes = await readFile(file);
    if (!bytes.includes(END)) throw new Error(`${file} is cut off`); // gRPC takes such a ca
    return bytes;
  }

  /** @param {(Uint8Array | undefined)[]} pem */
  #createSsl(pem) {
    const [ca, key, cert] = pem.map((bytes) => (bytes === undefined ? null : Buffer.from(bytes)));
    return this.#factory.createSsl(ca, key, cert);
  }
}

const MIN_VERSION = [3, 4];

/** @param {string} version  of a member */
function isSupported(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > MIN_VERSION[0] || (major === MIN_VERSION[0] && minor >= MIN_VERSION[1]);
}

/**
 * @param {string} version  of a member
 * @throws DOMException InvalidStateError when it is too old
 */
function checkVersion(version) {
  if (isSupported(version)) return;
  throw invalidStateError(`etcd ${version} is too old: ${MIN_VERSION.join('.')} is needed`);
}

/** The part of the lease's time after which an answer is late. */
const LATE_PART = 1 / 5;

/**
 * The way to the cluster: a connection to one of the members, and another one if it fails or does
 * not answer. Calls are tried once; a connection that was left completes its calls.
 */
class EtcdClient {
  #options;
  #library = loadServices();
  #secrets;
  /** Of the member whose turn it is. */
  #index;
  /** @type {Connection | undefined} for new calls */
  #connection;
  /** @type {Set<Connection>} with those that were left and have calls */
  #connections = new Set();
  /** @type {Promise<void> | undefined} until it is known whether there is another one */
  #replacement;
  /** Members that were tried in vain since the last answer of a new one. */
  #misses = 0;
  #isClosed = false;
  /** @type {string | undefined} of authentication */
  #token;
  /** @type {Promise<void> | undefined} */
  #authentication;
  /** @type {number | undefined} since when new tokens are refused, too */
  #refusedFrom;
  /** The counts for metrics. */
  counts = { calls: 0, failures: 0, reconnects: 0, authentications: 0 };

  /** @param {ClusterOptions} options */
  constructor(options) {
    this.#options = options;
    this.#secrets = new Secrets(options, this.#library);
    // Sessions spread over the members.
    this.#index = Math.floor(Math.random() * options.endpoints.length);
  }

  get endpoint() {
    return this.#options.endpoints[this.#index];
  }

  get isClosed() {
    return this.#isClosed;
  }

  /**
   * The connection of the next call.
   * @throws EtcdError when the client was closed
   */
  get connection() {
    if (this.#isClosed) throw new EtcdError(UNAVAILABLE, 'the client was closed', this.endpoint);
    this.#connection ??= this.#connect(this.endpoint);
    return this.#connection;
  }

  /** After so long an answer is late. */
  get lateMs() {
    return this.#options.ttlMs * LATE_PART;
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
    for (let isNew = false; ; isNew = true) {
      await this.#authenticate();
      const [token, connection] = [this.#token, this.#connection];
      try {
        const answer = await this.#callOnce({ service, method, request, timeoutMs });
        this.#refusedFrom = undefined;
        return answer;
      } catch (error) {
        const failure = /** @type {EtcdError} */ (error);
        if (isNew && failure.isStaleToken) this.#noteRefusal(failure, connection);
        if (isNew || !failure.isStaleToken) throw failure;
        if (this.#token === token) this.#token = undefined;
      }
    }
  }

  /**
   * A stream of watches.
   * @returns {Promise<{ stream: any, connection: Connection }>}
   * @throws EtcdError (rejects)
   */
  async openWatchStream() {
    await this.#authenticate();
    const { connection } = this;
    return { stream: connection.openStream('Watch', 'Watch', this.#metadata()), connection };
  }

  /** The token that streams were opened with is worth nothing any more. */
  forgetToken() {
    this.#token = undefined;
  }

  /**
   * New calls go elsewhere: to the next member, or over a new connection where there is no other.
   * @param {Connection} connection  that has failed; no effect when another is current
   */
  leave(connection) {
    if (connection !== this.#connection) return;
    this.counts.reconnects += 1;
    this.#connection = undefined;
    this.#index = (this.#index + 1) % this.#options.endpoints.length;
    connection.leave();
  }

  /**
   * Leaves a connection whose answers are late, as soon as another one is ready. Resolves then, or
   * when it cannot be had.
   * @param {Connection} connection  no effect when another is current
   */
  async replace(connection) {
    if (connection !== this.#connection || this.#isClosed) return;
    this.#replacement ??= this.#findOther(connection).finally(() => {
      this.#replacement = undefined;
    });
    await this.#replacement;
  }

  /** @param {Connection} connection */
  async #findOther(connection) {
    const { endpoints } = this.#options;
    const index = (this.#index + 1 + this.#misses) % endpoints.length;
    const candidate = this.#connect(endpoints[index]);
    // Later candidates have more time: if all are slow, one of them still gets ready.
    const isReady = await candidate.isReadyWithin(this.lateMs * 2 ** Math.min(this.#misses, 5));
    this.#misses = isReady ? 0 : this.#misses + 1;
    if (!isReady || this.#connection !== connection) {
      candidate.close();
      return;
    }
    this.counts.reconnects += 1;
    this.#connection = candidate;
    this.#index = index;
    connection.leave();
  }

  /** @param {string} endpoint */
  #connect(endpoint) {
    const onClosed = (/** @type {Connection} */ it) => this.#connections.delete(it);
    const { credentials } = this.#secrets;
    const connection = new Connection(this.#library, credentials, endpoint, onClosed);
    this.#connections.add(connection);
    return connection;
  }

  /** Ends all calls. */
  close() {
    this.#isClosed = true;
    for (const connection of this.#connections) connection.close();
  }

  /**
   * A member that answers but has no leader is left where there is another one.
   * @param {EtcdError} failure
   * @param {Connection} connection
   */
  #judge(failure, connection) {
    if (!failure.isInDoubt) return;
    if (failure.isLate) void this.replace(connection);
    else if (!failure.isAnswer || this.#options.endpoints.length > 1) this.leave(connection);
  }

  #metadata() {
    const metadata = new this.#library.grpc.Metadata();
    metadata.set('hasleader', 'true'); // a member without a leader says so instead of waiting
    if (this.#token !== undefined) metadata.set('token', this.#token);
    return metadata;
  }

  /** @param {Omit<import('./connection.js').Call, 'metadata'>} call */
  async #callOnce(call) {
    const { connection } = this;
    this.counts.calls += 1;
    try {
      return await connection.call({ ...call, metadata: this.#metadata() });
    } catch (error) {
      this.counts.failures += 1;
      this.#judge(/** @type {EtcdError} */ (error), connection);
      throw error;
    }
  }

  /**
   * A member may refuse new tokens as well, if it has missed a change of rights, until it is
   * started again. So another member is tried. If all members refuse them for as long as a lease
   * lives, that is final.
   * @param {EtcdError} failure
   * @param {Connection | undefined} connection
   */
  #noteRefusal(failure, connection) {
    this.#refusedFrom ??= steadyNow();
    failure.isForGood = steadyNow() - this.#refusedFrom > this.#options.ttlMs;
    const hasOther = connection !== undefined && this.#options.endpoints.length > 1;
    if (hasOther) this.leave(connection);
  }

  async #authenticate() {
    const { user, password } = this.#options;
    if (user === undefined || password === undefined || this.#token !== undefined) return;
    this.#authentication ??= this.#takeToken(user).finally(() => {
      this.#authentication = undefined;
    });
    await this.#authentication;
  }

  /** @param {string} name */
  async #takeToken(name) {
    const request = { name, password: await this.#secrets.readPassword() };
    const timeoutMs = this.#options.ttlMs;
    const call = { service: 'Auth', method: 'Authenticate', request, timeoutMs };
    const { token } = await new FirstAnswer(this, () => this.#callOnce(call)).promise;
    this.counts.authentications += 1;
    this.#token = token;
  }
}

module.exports = { Secrets, checkVersion, isSupported, EtcdClient };
