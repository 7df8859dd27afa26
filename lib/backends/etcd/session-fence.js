'use strict';

const { Backoff } = require('./backoff.js');
const { SessionLost } = require('./session-calls.js');
const { get, isChangedAt, nested, put } = require('./transaction.js');

/** @typedef {import('./etcd-errors.js').EtcdError} EtcdError */
/** @typedef {import('./session-calls.js').SessionCalls} SessionCalls */

/**
 * @typedef {object} About  the session's own key
 * @property {string} key
 * @property {string} lease
 */

/** The fence of a session (S1 there): the revision at which its own key was written last. */
class SessionFence {
  #calls;
  #about;
  #abandon;
  #revision = '0';
  /** The value of the key. */
  #value = '';
  /** @type {Promise<void> | undefined} */
  #move;

  /**
   * @param {SessionCalls} calls
   * @param {About} about
   * @param {() => void} abandon  the session: its key is not what it was
   */
  constructor(calls, about, abandon) {
    this.#calls = calls;
    this.#about = about;
    this.#abandon = abandon;
  }

  /**
   * @param {string} value  which stands in the key
   * @param {string} revision
   */
  begin(value, revision) {
    this.#value = value;
    this.#revision = revision;
  }

  get revision() {
    return this.#revision;
  }

  /** Waits while the fence is moved: a change that is sent meanwhile comes too late for it. */
  async untilStill() {
    while (this.#move !== undefined) await this.#move;
  }

  /**
   * After this no change that was bound to that fence can happen any more.
   * @param {string} fence
   */
  async moveFrom(fence) {
    while (this.#revision === fence) {
      this.#move ??= this.#write(fence).finally(() => {
        this.#move = undefined;
      });
      await this.#move; // perhaps away from an older one: then this one is moved next
    }
  }

  /**
   * Only the first try that arrives moves it: a later one would undo the changes that are bound to
   * the new fence.
   * @param {string} fence
   */
  async #write(fence) {
    const { key, lease } = this.#about;
    const backoff = new Backoff();
    for (;;) {
      this.#calls.checkLives();
      try {
        const answer = await this.#calls.repeat('KV', 'Txn', {
          compare: [isChangedAt(key, fence)],
          // Nested like the changes, so that the cluster takes it where it takes them.
          success: [nested([], [put(key, this.#value, lease)])],
          failure: [get(key)],
        });
        if (answer.succeeded) this.adopt(answer.header.revision);
        else this.read(answer.responses[0].response_range.kvs, fence);
        return;
      } catch (error) {
        if (error instanceof SessionLost) throw error;
        const { isFinal, isLeaseGone, isForSpace } = /** @type {EtcdError} */ (error);
        // Changes wait for the fence: a fence that can never be moved must not stall them for ever.
        if (isLeaseGone || (isFinal !== false && !isForSpace)) this.#abandon();
        await backoff.pause();
      }
    }
  }

  /**
   * @param {any[]} keyValues  the session's own key, or nothing
   * @param {string} fence  that it did not have
   */
  read(keyValues, fence) {
    const revision = keyValues[0]?.mod_revision;
    // An older one is of a cluster that was set back to a copy of its data.
    if (revision === undefined || BigInt(revision) < BigInt(fence)) this.#abandon();
    else this.adopt(revision);
  }

  /** @param {string} revision */
  adopt(revision) {
    if (BigInt(revision) > BigInt(this.#revision)) this.#revision = revision;
  }
}

module.exports = { SessionFence };
