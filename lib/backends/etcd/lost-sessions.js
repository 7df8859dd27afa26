'use strict';

const { setTimeout } = require('../../time.js');
const { endSession } = require('./freed-names.js');

/** @typedef {import('./name-queue.js').NameQueue} NameQueue */
/** @typedef {import('./session.js').Session} Session */

/**
 * Sessions of an agent that are lost. Their keys in the cluster are in the way of others, and are
 * removed when the agent has received the loss. An agent whose event loop is blocked continues with
 * its locks: it owns them until the lease runs out.
 */
class LostSessions {
  #client;
  #bucket;
  #ttlMs;
  /** Of sessions whose agent has not received the loss. @type {(() => void)[]} */
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
   * To be called before its requests are notified.
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

  /** The agent has received all losses of the first of them. */
  hear() {
    this.#unheard.shift()?.();
  }

  /** No agent remains that might receive a loss. */
  async close() {
    for (const resolve of this.#unheard.splice(0)) resolve();
    await Promise.all(this.#ends);
  }
}

module.exports = { LostSessions };
