'use strict';

const { Member } = require('./member.js');
const { spread } = require('./random.js');

/**
 * @typedef {object} Told  an event for a session
 * @property {number} member  that its watch is at
 * @property {() => void} tell
 */

/**
 * @typedef {object} Costs  in ms; the first seven are processor time
 * @property {number} frontMs  of a call, at the member that is asked
 * @property {number} applyMs  of a transaction, at each member
 * @property {number} roundMs  of the leader for a round, however many transactions it has
 * @property {number} followMs  of a follower for a round
 * @property {number} sendMs  of the leader for a round, for each follower
 * @property {number} eventMs  of a watch event
 * @property {number} keepAliveMs  of a keep-alive, at the member that is asked and at the leader
 * @property {number} syncMs  until a round is on disk
 * @property {number} peerMs  between members, one way
 * @property {number} clientMs  between client and member, one way
 */

/**
 * An etcd cluster without faults: member 0 leads. A transaction is committed when a majority has
 * it on disk. The leader sends a round to its followers while it writes it itself.
 */
class Cluster {
  /** @type {import('./member.js').Entry[]} */
  log = [];
  counts = { answered: 0, events: 0, told: 0, keepAlives: 0 };
  #timeline;
  #random;
  /** What the leader knows of the logs. @type {number[]} */
  #written;
  /** What has been sent to each, and when that arrives. @type {{ last: number, at: number }[]} */
  #sent;
  #decided = 0;

  /**
   * @param {object} about
   * @param {import('./timeline.js').Timeline} about.timeline
   * @param {() => number} about.random
   * @param {Costs} about.costs
   * @param {import('./processors.js').Processors[]} about.processors  of each member
   */
  constructor({ timeline, random, costs, processors }) {
    this.#timeline = timeline;
    this.#random = random;
    this.costs = costs;
    this.members = processors.map((own, index) => new Member(index, this, own));
    this.#written = processors.map(() => 0);
    this.#sent = processors.map(() => ({ last: 0, at: 0 }));
  }

  get size() {
    return this.members.length;
  }

  get #leader() {
    return this.members[0];
  }

  /** @param {() => void} done */
  sync(done) {
    this.#timeline.after(spread(this.#random, this.costs.syncMs), done);
  }

  /** @param {() => void} arrive */
  toPeer(arrive) {
    this.#timeline.after(spread(this.#random, this.costs.peerMs), arrive);
  }

  /** @param {() => void} arrive */
  toClient(arrive) {
    this.#timeline.after(spread(this.#random, this.costs.clientMs), arrive);
  }

  /**
   * A client asks for a transaction.
   * @param {number} origin  the member that it asks
   * @param {() => Told[]} decide  what the transaction does, once it is committed
   * @param {() => void} done  the answer is there
   */
  commit(origin, decide, done) {
    const answer = () =>
      this.toClient(() => {
        this.counts.answered += 1;
        done();
      });
    const propose = () => {
      this.log.push({ origin, decide, answer });
      this.#append();
    };
    this.toClient(() => {
      this.members[origin].processors.run(this.costs.frontMs / 2, () => {
        if (origin === 0) propose();
        else this.toPeer(propose);
      });
    });
  }

  #append() {
    const { roundMs, sendMs } = this.costs;
    const followers = this.members.slice(1);
    this.#leader.append(
      1,
      roundMs + sendMs * followers.length,
      (last) => followers.forEach((_, i) => this.#send(i + 1, last)),
      (last) => this.#hear(0, last),
    );
  }

  /**
   * What is sent to a follower arrives in order.
   * @param {number} index
   * @param {number} last
   */
  #send(index, last) {
    const sent = this.#sent[index];
    const count = last - sent.last;
    const { now } = this.#timeline;
    sent.last = last;
    sent.at = Math.max(sent.at, now + spread(this.#random, this.costs.peerMs));
    const hear = (/** @type {number} */ written) => this.toPeer(() => this.#hear(index, written));
    this.#timeline.after(sent.at - now, () => {
      this.members[index].append(count, this.costs.followMs, () => {}, hear);
    });
  }

  /**
   * @param {number} index
   * @param {number} written
   */
  #hear(index, written) {
    this.#written[index] = Math.max(this.#written[index], written);
    const majority = Math.floor(this.size / 2);
    const committed = this.#written.toSorted((a, b) => b - a)[majority];
    if (committed <= this.#decided) return;
    for (const entry of this.log.slice(this.#decided, committed)) {
      entry.told = entry.decide().map((told) => this.#count(told));
    }
    this.#decided = committed;
    this.#leader.learn(committed);
    for (const follower of this.members.slice(1)) this.toPeer(() => follower.learn(committed));
  }

  /** @param {Told} told @returns {Told} */
  #count({ member, tell }) {
    this.counts.events += 1;
    const arrive = () => {
      this.counts.told += 1;
      tell();
    };
    return { member, tell: () => this.toClient(arrive) };
  }

  /** @param {number} origin */
  keepAlive(origin) {
    const { keepAliveMs } = this.costs;
    const arrive = (/** @type {() => void} */ done) =>
      this.members[origin].processors.run(keepAliveMs, done);
    const end = () => (this.counts.keepAlives += 1);
    if (origin === 0) arrive(end);
    else arrive(() => this.toPeer(() => this.#leader.processors.run(keepAliveMs, end)));
  }

  /** What must be true when nothing is under way any more. */
  get isAtRest() {
    const { length } = this.log;
    const isWhole = this.members.every(
      ({ written, applied }) => Math.min(written, applied) === length,
    );
    return isWhole && this.counts.answered === length && this.counts.events === this.counts.told;
  }
}

module.exports = { Cluster };
