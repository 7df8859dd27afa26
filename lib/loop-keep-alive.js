'use strict';

const { clearInterval, setInterval } = require('./time.js');

const MAX_INTERVAL_MS = 2 ** 31 - 1;

/** Keeps the event loop alive while somebody waits for something that it does not know of. */
class LoopKeepAlive {
  #count = 0;
  /** @type {NodeJS.Timeout | undefined} made at the first use */
  #timer = undefined;

  /** One more waits. */
  ref() {
    this.#count += 1;
    this.#timer ??= setInterval(() => {}, MAX_INTERVAL_MS);
    if (this.#count === 1) this.#timer.ref();
  }

  /** One of them waits no longer. */
  unref() {
    this.#count -= 1;
    if (this.#count === 0) this.#timer?.unref();
  }

  /** For good. */
  end() {
    clearInterval(this.#timer);
  }
}

module.exports = { LoopKeepAlive };
