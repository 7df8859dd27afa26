'use strict';

const { readFileSync } = require('node:fs');

/** @typedef {import('./cluster-options.js').ClusterOptions} ClusterOptions */
/** @typedef {import('./grpc-library.js').Services} Library */

/**
 * What a client proves with who it is. Those that are in files are read again each time, because
 * whoever issues them renews them. In the middle of that, when a file is away or two do not fit
 * together, the last good ones are taken.
 */
class Secrets {
  #place;
  #factory;
  #credentials;
  #password;

  /**
   * @param {ClusterOptions} place
   * @param {Library} library
   * @throws what is wrong with them
   */
  constructor(place, { grpc }) {
    this.#place = place;
    this.#factory = grpc.credentials;
    this.#credentials = this.#createCredentials();
    this.#password = place.password;
  }

  /** For a connection that begins. */
  get credentials() {
    const { ca, cert, key } = this.#place.files;
    if (ca === undefined && cert === undefined && key === undefined) return this.#credentials;
    try {
      this.#credentials = this.#createCredentials();
    } catch {
      // The last ones.
    }
    return this.#credentials;
  }

  get password() {
    const { password } = this.#place.files;
    if (password === undefined) return this.#password;
    try {
      this.#password = readFileSync(password, 'utf8').trimEnd() || this.#password;
    } catch {
      // The last one.
    }
    return this.#password;
  }

  #createCredentials() {
    if (!this.#place.isEncrypted) return this.#factory.createInsecure();
    return this.#factory.createSsl(this.#read('ca'), this.#read('key'), this.#read('cert'));
  }

  /** @param {'ca' | 'key' | 'cert'} what */
  #read(what) {
    const file = this.#place.files[what];
    const bytes = file === undefined ? this.#place[what] : readFileSync(file);
    return bytes === undefined ? null : Buffer.from(bytes);
  }
}

module.exports = { Secrets };
