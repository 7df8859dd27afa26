'use strict';

/** Some processors and one queue before them. Work is never interrupted. */
class Processors {
  busyMs = 0;
  #timeline;
  #free;
  /** @type {{ ms: number, done: () => void }[]} */
  #queue = [];
  #first = 0;

  /**
   * @param {import('./timeline.js').Timeline} timeline
   * @param {number} count
   */
  constructor(timeline, count) {
    this.#timeline = timeline;
    this.#free = count;
  }

  /**
   * @param {number} ms
   * @param {() => void} done
   */
  run(ms, done) {
    if (this.#free === 0) {
      this.#queue.push({ ms, done });
      return;
    }
    this.#free -= 1;
    this.#begin(ms, done);
  }

  #begin(ms, done) {
    this.busyMs += ms;
    this.#timeline.after(ms, () => {
      const next = this.#takeFirst();
      if (next === undefined) this.#free += 1;
      else this.#begin(next.ms, next.done);
      done();
    });
  }

  #takeFirst() {
    const first = this.#queue[this.#first];
    if (first === undefined) return undefined;
    this.#first += 1;
    if (this.#first > 1_000 && this.#first * 2 > this.#queue.length) {
      this.#queue.splice(0, this.#first);
      this.#first = 0;
    }
    return first;
  }
}

/**
 * A thread with an event loop: what has arrived is done in one turn, and what follows from it
 * leaves at the turn's end, together.
 */
class Turns {
  #processors;
  /** @type {{ ms: number, done: () => void }[]} */
  #arrived = [];
  #isRunning = false;

  /** @param {Processors} processors */
  constructor(processors) {
    this.#processors = processors;
  }

  /**
   * @param {number} ms
   * @param {() => void} done
   */
  run(ms, done) {
    this.#arrived.push({ ms, done });
    if (!this.#isRunning) this.#turn();
  }

  #turn() {
    const work = this.#arrived;
    this.#arrived = [];
    this.#isRunning = work.length > 0;
    if (!this.#isRunning) return;
    const ms = work.reduce((sum, it) => sum + it.ms, 0);
    this.#processors.run(ms, () => {
      for (const { done } of work) done();
      this.#turn();
    });
  }
}

module.exports = { Processors, Turns };
