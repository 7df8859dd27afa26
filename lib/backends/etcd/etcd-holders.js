'use strict';

const { keyValuesOf, get, getAll, textOf } = require('./transaction.js');
const { toInspection } = require('./bucket-view.js');
const { sleep } = require('./backoff.js');
const { dateNow } = require('../../time.js');

/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */

/** An error message is not worth a longer wait. */
const BRIEF_MS = 500;

/**
 * Reads the holders of a name's lock, for the message of a timeout.
 * @param {import('./session.js').Session} session
 * @param {import('./keys.js').BucketKeys} bucket
 * @param {string} name
 * @param {number} max
 * @returns {Promise<LockDetail[]>}
 */
async function readHolders(session, bucket, name, max) {
  const { request_range: range } = getAll(bucket.ofName(name).held);
  const held = await session.read([{ request_range: { ...range, limit: String(max) } }]);
  const keyValues = keyValuesOf(held.responses[0]);
  const keys = keyValues.map((/** @type {any} */ { key }) => bucket.parse(textOf(key)));
  const abouts = new Set(keys.map((/** @type {any} */ { lease }) => bucket.about(lease)));
  const { responses } = await session.read([...abouts].map(get));
  return toInspection([...keyValues, ...responses.flatMap(keyValuesOf)], bucket, dateNow()).held;
}

/**
 * @param {Promise<LockDetail[]>} holders
 * @returns {Promise<LockDetail[]>} none, where the cluster does not answer at once
 */
const briefly = (holders) =>
  Promise.race([holders, sleep(BRIEF_MS).then(() => [])]).catch(() => []);

/** Of thousands that time out together, each name is read for once at a time. */
class HolderReads {
  /** @type {Map<string, Promise<LockDetail[]>>} by name */
  #reads = new Map();

  /**
   * @param {string} name
   * @param {() => Promise<LockDetail[]>} read
   * @returns {Promise<LockDetail[]>} none, where the cluster does not answer at once
   */
  read(name, read) {
    let holders = this.#reads.get(name);
    if (holders === undefined) {
      holders = briefly(read().finally(() => this.#reads.delete(name)));
      this.#reads.set(name, holders);
    }
    return holders;
  }
}

module.exports = { HolderReads, readHolders };
