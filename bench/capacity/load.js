'use strict';

/**
 * A client with a session: it takes a lock, holds it, gives it back, and begins again.
 * @typedef {object} Client
 * @property {number} member  that it asks, and that its watch is at
 * @property {import('./cluster.js').Cluster} cluster  that has its name
 * @property {Name} name
 * @property {{ run: (ms: number, done: () => void) => void }} thread  that works for it
 */

/** Reads of the queue: one serves so many hand-offs. */
const HAND_OFFS_A_READ = 8;

/** A lock, as the cluster's state has it. */
class Name {
  /** @type {object | undefined} */
  holder;
  /** @type {{ owner: object, told: import('./cluster.js').Told }[]} */
  queue = [];
  handOffs = 0;

  /**
   * Takes it, or a place in the queue.
   * @param {object} owner
   * @param {import('./cluster.js').Told} told  of the hand-off
   * @returns {boolean} whether it is held now
   */
  enter(owner, told) {
    if (this.holder === undefined && this.queue.length === 0) {
      this.holder = owner;
      return true;
    }
    this.queue.push({ owner, told });
    return false;
  }

  /**
   * Gives it back, and hands it to the first of the queue.
   * @returns {import('./cluster.js').Told[]}
   */
  leave() {
    const next = this.queue.shift();
    this.holder = next?.owner;
    if (next === undefined) return [];
    this.handOffs += 1;
    return [next.told];
  }
}

/** Clients that all want locks all the time, until they are stopped. */
class Load {
  /** When each lock was asked for and had been given back, in ms. @type {number[]} */
  times = [];
  overlaps = 0;
  underWay = 0;
  isStopped = false;
  #timeline;
  #clientCpuMs;
  #holdMs;
  #inside = new Map();

  /**
   * @param {object} about
   * @param {import('./timeline.js').Timeline} about.timeline
   * @param {number} about.clientCpuMs  of a transaction
   * @param {number} about.holdMs
   */
  constructor({ timeline, clientCpuMs, holdMs }) {
    this.#timeline = timeline;
    this.#clientCpuMs = clientCpuMs;
    this.#holdMs = holdMs;
  }

  /** @param {Client} client */
  begin(client) {
    if (this.isStopped) return;
    this.underWay += 1;
    const asked = this.#timeline.now;
    const owner = {};
    const granted = () => this.#hold(client, asked);
    const told = { member: client.member, tell: () => this.#work(client, granted) };
    let isHeld = false;
    const decide = () => {
      isHeld = client.name.enter(owner, told);
      return [];
    };
    this.#commit(client, decide, () => {
      if (isHeld) granted();
    });
  }

  /**
   * @param {Client} client
   * @param {number} asked
   */
  #hold(client, asked) {
    const inside = (this.#inside.get(client.name) ?? 0) + 1;
    this.#inside.set(client.name, inside);
    if (inside > 1) this.overlaps += 1;
    this.#timeline.after(this.#holdMs, () => {
      this.#inside.set(client.name, this.#inside.get(client.name) - 1);
      this.#read(client);
      this.#commit(
        client,
        () => client.name.leave(),
        () => {
          this.times.push(this.#timeline.now - asked);
          this.underWay -= 1;
          this.begin(client);
        },
      );
    });
  }

  /** What a releaser has read of the queue serves some hand-offs. @param {Client} client */
  #read({ name, cluster, member }) {
    if (name.queue.length === 0 || name.handOffs % HAND_OFFS_A_READ !== 0) return;
    cluster.members[member].processors.run(cluster.costs.frontMs, () => {});
  }

  /**
   * @param {Client} client
   * @param {() => import('./cluster.js').Told[]} decide
   * @param {() => void} done
   */
  #commit(client, decide, done) {
    const { cluster, member } = client;
    const arrive = () => this.#work(client, done);
    this.#work(client, () => cluster.commit(member, decide, arrive));
  }

  /**
   * Half of what a transaction costs its client.
   * @param {Client} client
   * @param {() => void} done
   */
  #work({ thread }, done) {
    thread.run(this.#clientCpuMs / 2, done);
  }
}

module.exports = { Load, Name };
