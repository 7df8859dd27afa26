'use strict';

/**
 * One step that a client wants, with the time at which it was wanted.
 * @typedef {{ t: number, apply: () => void }} Step
 */

/**
 * Puts the steps of all connections in the order of real time. A message that was written before
 * another client began to write is in the kernel by then, but the event loop reads connections in
 * any order. So a step waits until the loop has read all connections once more: every message older
 * than the beginning of that reading has arrived with it.
 */
class Rounds {
  /** @type {Step[]} */
  #steps = [];
  #isScheduled = false;
  #isPaused = false;
  #isReading = false;
  #run;
  #mayRunAtOnce;
  #afterReading;

  /**
   * @param {import('./reading-barrier.js').ReadingBarrier} afterReading
   * @param {(steps: Step[]) => void} run  called with steps in their order
   * @param {() => boolean} mayRunAtOnce  there is one connection, and so nothing to be put in order
   */
  constructor(afterReading, run, mayRunAtOnce) {
    this.#afterReading = afterReading;
    this.#run = run;
    this.#mayRunAtOnce = mayRunAtOnce;
  }

  /** @param {Step} step */
  add(step) {
    this.#steps.push(step);
    if (!this.#isReading) this.#schedule();
  }

  /** The steps of one reading of one connection follow. */
  beginReading() {
    this.#isReading = true;
  }

  endReading() {
    this.#isReading = false;
    if (!this.#isPaused && this.#mayRunAtOnce()) this.#runUntil(Infinity);
    this.#schedule();
  }

  /** Keeps all steps until resume(). */
  pause() {
    this.#isPaused = true;
  }

  resume() {
    this.#isPaused = false;
    this.#schedule();
  }

  #schedule() {
    if (this.#isScheduled || this.#isPaused || this.#steps.length === 0) return;
    this.#isScheduled = true;
    this.#afterReading((since) => {
      this.#isScheduled = false;
      if (!this.#isPaused) this.#runUntil(since);
      this.#schedule();
    });
  }

  /** @param {number} end */
  #runUntil(end) {
    const due = this.#steps.filter(({ t }) => t <= end);
    if (due.length === 0) return;
    this.#steps = this.#steps.filter(({ t }) => t > end);
    due.sort((a, b) => a.t - b.t);
    this.#run(due);
  }
}

module.exports = { Rounds };
