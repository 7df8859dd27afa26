'use strict';

/** Runs steps one after the other. */
class StepQueue {
  /** @type {(() => Promise<void>)[]} */
  #steps = [];
  #isRunning = false;
  #onError;
  #onIdle;

  /**
   * @param {(error: unknown) => void} onError  a step has failed; the next one is done all the same
   * @param {() => void} onIdle  there are no more
   */
  constructor(onError, onIdle) {
    this.#onError = onError;
    this.#onIdle = onIdle;
  }

  /** @param {() => Promise<void>} step */
  add(step) {
    this.#steps.push(step);
    if (!this.#isRunning) this.#run();
  }

  async #run() {
    this.#isRunning = true;
    while (this.#steps.length > 0) {
      const steps = this.#steps;
      this.#steps = [];
      for (const step of steps) await this.#do(step);
    }
    this.#isRunning = false;
    this.#onIdle();
  }

  /** @param {() => Promise<void>} step */
  async #do(step) {
    try {
      await step();
    } catch (error) {
      this.#onError(error);
    }
  }
}

module.exports = { StepQueue };
