'use strict';

const { execFileSync } = require('node:child_process');
const { readFileSync, writeFileSync } = require('node:fs');
const path = require('node:path');

/**
 * An authority that openssl makes for one test, and what it signs.
 */
class Authority {
  #directory;

  /** @param {string} directory  for its files */
  constructor(directory) {
    this.#directory = directory;
    this.#openssl('req', '-x509', '-subj', '/CN=authority', ...this.#newKey('ca'));
  }

  /** @param {string} name */
  file(name) {
    return path.join(this.#directory, name);
  }

  /** @param {string} name */
  read(name) {
    return readFileSync(this.file(name));
  }

  /**
   * Makes NAME.crt and NAME.key, for 127.0.0.1 and for clients.
   * @param {string} name
   */
  sign(name) {
    const extensions = this.file(`${name}.ext`);
    const uses = 'extendedKeyUsage=serverAuth,clientAuth';
    writeFileSync(extensions, `subjectAltName=IP:127.0.0.1\n${uses}\n`);
    const request = this.file(`${name}.csr`);
    const key = this.file(`${name}.key`);
    this.#openssl(
      ...['req', '-new', '-subj', `/CN=${name}`, '-newkey', 'rsa:2048', '-nodes'],
      ...['-keyout', key, '-out', request],
    );
    this.#openssl(
      ...['x509', '-req', '-in', request, '-out', this.file(`${name}.crt`), '-days', '2'],
      ...['-CA', this.file('ca.crt'), '-CAkey', this.file('ca.key'), '-CAcreateserial'],
      ...['-extfile', extensions],
    );
  }

  /** @param {string} name */
  #newKey(name) {
    const files = ['-keyout', this.file(`${name}.key`), '-out', this.file(`${name}.crt`)];
    return ['-newkey', 'rsa:2048', '-nodes', '-days', '2', ...files];
  }

  /** @param {...string} words */
  #openssl(...words) {
    execFileSync('openssl', words, { stdio: 'pipe' });
  }
}

module.exports = { Authority };
