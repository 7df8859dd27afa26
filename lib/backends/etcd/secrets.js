'use strict';

const { readFile } = require('node:fs/promises');

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
  #place;
  #factory;
  #credentials;
  #password;
  #isReading = false;

  /**
   * @param {ClusterOptions} place
   * @param {Library} library
   * @throws what is wrong with them
   */
  constructor(place, { grpc }) {
    this.#place = place;
    this.#factory = grpc.credentials;
    const { isEncrypted, ca, key, cert } = place;
    this.#credentials = isEncrypted
      ? this.#createSsl([ca, key, cert])
      : this.#factory.createInsecure();
    this.#password = place.password;
  }

  /** For a connection that begins; those in files are as they were when the last one began. */
  get credentials() {
    void this.#readCredentials();
    return this.#credentials;
  }

  /** @returns {Promise<string | undefined>} */
  async readPassword() {
    const { password } = this.#place.files;
    if (password === undefined) return this.#password;
    const text = await readFile(password, 'utf8').catch(() => '');
    this.#password = text.trimEnd() || this.#password;
    return this.#password;
  }

  async #readCredentials() {
    const { ca, key, cert } = this.#place.files;
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
    const file = this.#place.files[what];
    if (file === undefined) return this.#place[what];
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

module.exports = { Secrets };
