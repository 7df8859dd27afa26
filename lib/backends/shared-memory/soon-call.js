'use strict';

const { apply, then } = require('../../time.js');

const SOON = Promise.resolve();

/**
 * Calls a function in a microtask, once, however often it is asked to before. No then() of the
 * program has a part in it: one that throws would end all later calls.
 */
class SoonCall {
  #isDue = false;
  #call;

  /** @param {() => void} call */
  constructor(call) {
    this.#call = () => {
      this.#isDue = false;
      call();
    };
  }

  request() {
    if (this.#isDue) return;
    this.#isDue = true;
    apply(then, SOON, [this.#call]); // queueMicrotask() takes several times as long
  }
}

module.exports = { SoonCall };
