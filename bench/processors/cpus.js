'use strict';

const { spread } = require('../capacity/random.js');

/**
 * The processors of one machine, with a queue each. A thread that is woken gets an idle processor;
 * if there is none, that of its waker or the one it ran on last, where it takes the place of a
 * thread that only looks. It does not move when another one becomes idle: a system moves threads
 * when it wakes them, and rarely otherwise.
 */
class Cpus {
  #random;
  #timeline;
  #costs;
  /** @type {import('./party.js').Party[][]} */
  #queues;
  /** @type {(import('./party.js').Party | undefined)[]} */
  #running = [];
  /** @type {number[]} */
  #idle;

  /**
   * @param {import('../capacity/timeline.js').Timeline} timeline
   * @param {number} count
   * @param {import('./simulate.js').Costs} costs
   * @param {() => number} random
   */
  constructor(timeline, count, costs, random) {
    this.#random = random;
    this.#timeline = timeline;
    this.#costs = costs;
    this.#queues = Array.from({ length: count }, () => []);
    this.#idle = Array.from({ length: count }, (_, cpu) => cpu);
  }

  /** @param {number} mean @param {() => void} act */
  #after(mean, act) {
    this.#timeline.after(spread(this.#random, mean), act);
  }

  /** @param {number} cpu */
  hasWaiters(cpu) {
    return this.#queues[cpu].length > 0;
  }

  /**
   * A thread that slept.
   * @param {import('./party.js').Party} party
   * @param {number} waker  its processor
   */
  wake(party, waker) {
    const idle = this.#takeIdle(party.cpu);
    if (idle !== undefined) {
      return this.#after(this.#costs.wakeOtherCpuNs, () => this.#start(party, idle));
    }
    const cpu = this.#random() < 0.5 ? waker : party.cpu;
    const running = this.#running[cpu];
    if (running?.state !== 'looking') return void this.#queues[cpu].push(party);
    running.isStopped();
    this.#queues[cpu].unshift(party, running);
    this.leave(cpu);
  }

  /** @param {import('./party.js').Party} party @param {number} cpu */
  #start(party, cpu) {
    this.#running[cpu] = party;
    party.runsOn(cpu);
  }

  /** The one it ran on last, if that is idle. @param {number} last */
  #takeIdle(last) {
    if (this.#idle.length === 0) return undefined;
    const [cpu] = this.#idle.splice(Math.max(this.#idle.indexOf(last), 0), 1);
    return cpu;
  }

  /** A thread sleeps. @param {number} cpu */
  leave(cpu) {
    this.#running[cpu] = undefined;
    const next = this.#queues[cpu].shift();
    if (next === undefined) this.#idle.push(cpu);
    else this.#after(this.#costs.wakeSameCpuNs, () => this.#start(next, cpu));
  }

  /** Its time is over: others run first. @param {import('./party.js').Party} party */
  yield(party) {
    this.#queues[party.cpu].push(party);
    this.leave(party.cpu);
  }
}

module.exports = { Cpus };
