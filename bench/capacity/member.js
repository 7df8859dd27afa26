'use strict';

/**
 * @typedef {object} Entry  a transaction in the log
 * @property {number} origin  the member whom the client has asked
 * @property {() => import('./cluster.js').Told[]} decide  what it does; called once, in log order
 * @property {() => void} answer  takes the answer to the client
 * @property {import('./cluster.js').Told[]} [told]
 */

/**
 * A member: a log that is written in rounds, and a state that takes one entry after the other.
 * Whatever waits when a round begins is written by it.
 */
class Member {
  /** The number of entries that are in its log, committed, and in its state. */
  written = 0;
  committed = 0;
  applied = 0;
  rounds = 0;
  #index;
  #cluster;
  /** Entries that it has been sent and not yet written. */
  #unwritten = 0;
  #isWriting = false;
  #isApplying = false;

  /**
   * @param {number} index
   * @param {import('./cluster.js').Cluster} cluster
   * @param {import('./processors.js').Processors} processors
   */
  constructor(index, cluster, processors) {
    this.#index = index;
    this.#cluster = cluster;
    this.processors = processors;
  }

  /**
   * @param {number} count  of entries, behind those before
   * @param {number} roundMs  processor time of a round
   * @param {(written: number) => void} sent  a round begins: with the number of the last entry
   * @param {(written: number) => void} done  it is on disk
   */
  append(count, roundMs, sent, done) {
    this.#unwritten += count;
    if (!this.#isWriting) this.#write(roundMs, sent, done);
  }

  #write(roundMs, sent, done) {
    this.#isWriting = true;
    this.rounds += 1;
    const last = this.written + this.#unwritten;
    this.#unwritten = 0;
    this.processors.run(roundMs, () => {
      sent(last);
      this.#cluster.sync(() => {
        this.written = last;
        this.#isWriting = false;
        if (this.#unwritten > 0) this.#write(roundMs, sent, done);
        done(last);
        this.#apply();
      });
    });
  }

  /** @param {number} committed  as the leader says */
  learn(committed) {
    this.committed = Math.max(this.committed, committed);
    this.#apply();
  }

  #apply() {
    if (this.#isApplying || this.applied >= Math.min(this.committed, this.written)) return;
    this.#isApplying = true;
    const entry = this.#cluster.log[this.applied];
    const { applyMs, frontMs, eventMs } = this.#cluster.costs;
    this.processors.run(applyMs, () => {
      this.applied += 1;
      this.#isApplying = false;
      if (entry.origin === this.#index) this.processors.run(frontMs / 2, entry.answer);
      for (const { member, tell } of entry.told ?? []) {
        if (member === this.#index) this.processors.run(eventMs, tell);
      }
      this.#apply();
    });
  }
}

module.exports = { Member };
