'use strict';

const { spread } = require('../capacity/random.js');

// A thread that wants one lock all the time, as bench/harness/party.js: it asks for the next one
// before it gives one back. What it does while it waits is docs/decisions/0017.

const MAX_FAILURES = 6;

/** @typedef {'asleep' | 'runnable' | 'looking' | 'busy'} State */

/** Those who want one name. */
class Name {
  /** @type {Party[]} */
  queue = [];
  /** @type {Party | undefined} */
  holder = undefined;

  /** @param {import('./word.js').Word} shard */
  constructor(shard) {
    this.shard = shard;
  }
}

class Party {
  cpu = -1;
  /** @type {State} */
  state = 'asleep';
  isGranted = false;
  sections = 0;
  handOvers = 0;
  #look = 0;
  #failures = 0;
  #skips = 0;
  #since = 0;

  /**
   * @param {import('./simulate.js').World} world
   * @param {Name} name
   */
  constructor(world, name) {
    this.world = world;
    this.name = name;
  }

  /** It has a processor now. @param {number} cpu */
  runsOn(cpu) {
    this.cpu = cpu;
    this.#since = this.world.timeline.now;
    this.#goOn();
  }

  #goOn() {
    if (this.isGranted) this.#enter();
    else if (this.#isLookWorthwhile()) this.#lookForGrant();
    else this.#sleep();
  }

  #isLookWorthwhile() {
    const { queue, holder } = this.name;
    if (queue.indexOf(this) > 1 || holder === undefined) return false;
    if (holder.state === 'asleep' || holder.cpu === this.cpu) return false;
    if (this.#skips === 0) return true;
    this.#skips -= 1;
    return false;
  }

  #lookForGrant() {
    this.state = 'looking';
    this.#look += 1;
    const look = this.#look;
    this.world.timeline.after(this.world.costs.lookNs, () => {
      if (this.state === 'looking' && this.#look === look) this.#fail();
    });
  }

  /** Whose turn it is waits for the processor of this one. @param {Party} holder */
  stopsFor(holder) {
    if (this.state === 'looking' && this.cpu === holder.cpu) this.#fail();
  }

  /** Another thread has its processor while it looks. */
  isStopped() {
    this.state = 'runnable';
    this.#look += 1;
  }

  #fail() {
    this.#failures = Math.min(this.#failures + 1, MAX_FAILURES);
    this.#skips = 2 ** this.#failures - 1;
    this.#sleep();
  }

  #sleep() {
    this.state = 'asleep';
    this.world.cpus.leave(this.cpu);
  }

  /** @param {Party} from  who gives the lock */
  grant(from) {
    this.isGranted = true;
    this.name.holder = this;
    if (from !== this) this.handOvers += 1;
    if (this.state !== 'looking') return this.name.queue[0]?.stopsFor(this);
    this.#failures = this.#skips = 0;
    this.world.timeline.after(this.world.costs.handOverNs, () => this.#enter());
    this.state = 'busy';
  }

  #enter() {
    const { timeline, costs, random } = this.world;
    this.state = 'busy';
    timeline.after(spread(random, costs.cycleNs), () => this.#enterShard());
  }

  #enterShard() {
    const { timeline } = this.world;
    timeline.after(this.name.shard.use(timeline.now, this.cpu), () => this.#drawToken());
  }

  #drawToken() {
    const { timeline, token } = this.world;
    timeline.after(token.use(timeline.now, this.cpu), () => this.#release());
  }

  #release() {
    const { queue } = this.name;
    this.isGranted = false;
    this.sections += 1;
    queue.push(this);
    const next = /** @type {Party} */ (queue.shift());
    next.grant(this);
    const rung = [next, queue[0]].filter((party) => party !== this && party?.state === 'asleep');
    for (const party of rung) {
      party.state = 'runnable';
      this.world.cpus.wake(party, this.cpu);
    }
    this.world.timeline.after(rung.length * this.world.costs.ringNs, () => this.#afterRelease());
  }

  #afterRelease() {
    const { timeline, costs, cpus } = this.world;
    const isOver = timeline.now - this.#since > costs.sliceNs && cpus.hasWaiters(this.cpu);
    if (!isOver) return this.#goOn();
    this.state = 'runnable';
    cpus.yield(this);
  }
}

module.exports = { Name, Party };
