'use strict';

const { setTimeout } = require('../../time.js');
const { endSession } = require('./freed-names.js');

/** @typedef {import('./name-queue.js').NameQueue} NameQueue */
/** @typedef {import('./session.js').Session} Session */

/**
 * Sessions of an agent that are lost. What is left of them in the cluster is in the way of others,
 * and goes when the agent has heard of the loss. One whose event loop is blocked goes on with its
 * locks: they are its own until the lease runs out.
 */
class LostSessions {
  #client;
  #bucket;
  #ttlMs;
  /** Of those whose agent has not heard of it. @type {(() => void)[]} */
  #unheard = [];
  /** @type {Set<Promise<void>>} */
  #ends = new Set();

  /**
   * @param {import('./etcd-client.js').EtcdClient} client
   * @param {import('./keys.js').BucketKeys} bucket
   * @param {number} ttlMs
   */
  constructor(client, bucket, ttlMs) {
    this.#client = client;
    this.#bucket = bucket;
    this.#ttlMs = ttlMs;
  }

  /**
   * To be called before its requests are told.
   * @param {Session} session
   * @param {NameQueue[]} queues  all of it
   * @param {() => void} leaveMachine  the others of this machine may end it, too
   */
  add(session, queues, leaveMachine) {
    /** @type {Promise<void>} */
    const isHeard = new Promise((resolve) => {
      this.#unheard.push(resolve);
      setTimeout(resolve, this.#ttlMs).unref(); // the lease has run out
    });
    void isHeard.then(leaveMachine);
    const end = endSession(this.#client, this.#bucket, { session, isHeard, queues });
    this.#ends.add(end);
    void end.then(() => this.#ends.delete(end));
  }

  /** The agent has been told of all that it lost with the first of them. */
  hear() {
    this.#unheard.shift()?.();
  }

  /** There is nobody any more who might hear. */
  async close() {
    for (const resolve of this.#unheard.splice(0)) resolve();
    await Promise.all(this.#ends);
  }
}

module.exports = { LostSessions };
