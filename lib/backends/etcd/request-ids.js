'use strict';

const { numberOf, toRequestId } = require('./keys.js');

/** @typedef {import('./etcd-request.js').EtcdRequest} EtcdRequest */

/**
 * The ids of one session's requests, which are used again: a key that is gone stays in etcd's index
 * until a compaction, and each range over its name passes it. docs/etcd.md has the rules R1 to R5.
 */
class RequestIds {
  #leaseId;
  /** @type {Map<string, EtcdRequest>} */
  #users = new Map();
  /** @type {number[]} that were returned; the last one is taken first */
  #free = [];
  /** So many numbers have been in use. */
  #count = 0;

  /** @param {string} leaseId */
  constructor(leaseId) {
    this.#leaseId = leaseId;
  }

  /**
   * @param {EtcdRequest[]} requests  in their order: keys that are written together are in the
   *   order of their ids
   * @param {bigint} revision  that the cluster has reached
   */
  take(requests, revision) {
    const numbers = this.#free.splice(Math.max(0, this.#free.length - requests.length));
    while (numbers.length < requests.length) numbers.push((this.#count += 1));
    numbers.sort((a, b) => a - b);
    for (const [index, request] of requests.entries()) {
      request.id = toRequestId(this.#leaseId, numbers[index]);
      request.usedAfter = revision;
      this.#users.set(request.id, request);
    }
  }

  /** @param {string} id */
  find(id) {
    return this.#users.get(id);
  }

  /**
   * The cluster has no key of the request in its name, and no change that could write one is under
   * way.
   * @param {EtcdRequest} request
   */
  giveBack(request) {
    if (this.retire(request)) this.#free.push(numberOf(request.id));
  }

  /**
   * The id is not used again.
   * @param {EtcdRequest} request
   * @returns {boolean} whether it was in use by this request
   */
  retire(request) {
    const { id } = request;
    return this.#users.get(id) === request && this.#users.delete(id);
  }
}

module.exports = { RequestIds };
