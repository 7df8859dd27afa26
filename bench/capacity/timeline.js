'use strict';

/** Virtual time: what is to happen, in order; what happens at the same time, in the order asked. */
class Timeline {
  now = 0;
  #asked = 0;
  /** A binary heap. @type {{ at: number, order: number, act: () => void }[]} */
  #heap = [];

  /**
   * @param {number} ms  from now
   * @param {() => void} act
   */
  after(ms, act) {
    this.#asked += 1;
    const entry = { at: this.now + ms, order: this.#asked, act };
    const heap = this.#heap;
    let place = heap.length;
    while (place > 0) {
      const above = (place - 1) >> 1;
      if (!isBefore(entry, heap[above])) break;
      heap[place] = heap[above];
      place = above;
    }
    heap[place] = entry;
  }

  /**
   * Lets happen what is to happen, until the end of all, or until a time.
   * @param {number} [until]
   */
  run(until = Infinity) {
    while (this.#heap.length > 0 && this.#heap[0].at <= until) {
      const { at, act } = this.#takeFirst();
      this.now = at;
      act();
    }
    if (until !== Infinity) this.now = until;
  }

  #takeFirst() {
    const heap = this.#heap;
    const first = heap[0];
    const last = /** @type {typeof first} */ (heap.pop());
    let place = 0;
    for (let below = 1; below < heap.length; below = 2 * place + 1) {
      if (below + 1 < heap.length && isBefore(heap[below + 1], heap[below])) below += 1;
      if (!isBefore(heap[below], last)) break;
      heap[place] = heap[below];
      place = below;
    }
    if (heap.length > 0) heap[place] = last;
    return first;
  }
}

const isBefore = (a, b) => a.at < b.at || (a.at === b.at && a.order < b.order);

module.exports = { Timeline };
