'use strict';

/** @typedef {import('./etcd-request.js').EtcdRequest} EtcdRequest */

/** Requests that are to enter, in batches: what was asked for between two other steps. */
class EntryBatches {
  /** @type {EtcdRequest[]} */
  #open = [];
  /** @type {EtcdRequest[][]} oldest first */
  #closed = [];

  /**
   * @param {EtcdRequest} request
   * @returns {boolean} whether it begins a batch
   */
  add(request) {
    this.#open.push(request);
    return this.#open.length === 1;
  }

  /** What comes from here on is of another batch. */
  close() {
    if (this.#open.length === 0) return;
    this.#closed.push(this.#open);
    this.#open = [];
  }

  /** The oldest batch. */
  take() {
    return this.#closed.shift() ?? this.#open.splice(0);
  }
}

module.exports = { EntryBatches };
