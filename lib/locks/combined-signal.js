'use strict';

/**
 * A signal that aborts when one of several does. Unlike `AbortSignal.any()` it works in every Node
 * 20, and `close()` removes its listeners from signals that live longer.
 */
class CombinedSignal {
  #controller = new AbortController();
  #sources;
  #onAbort = () => {
    const first = this.#sources.find(({ aborted }) => aborted);
    if (first !== undefined) this.#controller.abort(first.reason);
  };

  /** @param {AbortSignal[]} sources  the first aborted one provides the reason */
  constructor(sources) {
    this.#sources = sources;
    for (const source of sources) source.addEventListener('abort', this.#onAbort);
    this.#onAbort();
  }

  get signal() {
    return this.#controller.signal;
  }

  close() {
    for (const source of this.#sources) source.removeEventListener('abort', this.#onAbort);
  }
}

module.exports = { CombinedSignal };
