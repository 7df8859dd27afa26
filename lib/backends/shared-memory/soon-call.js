'use strict';

const SOON = Promise.resolve();

/** Calls a function in a microtask, once, however often it is asked to before. */
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
    SOON.then(this.#call);
  }
}

module.exports = { SoonCall };
