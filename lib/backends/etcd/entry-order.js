'use strict';

/**
 * The answers to the requests that have entered, in the order in which they were sent. The cluster
 * may carry out changes of different names in any order, but an agent's callbacks run in the order
 * of its requests.
 */
class EntryOrder {
  /** @type {{ isDone: boolean, tell: () => void }[]} oldest first */
  #places = [];

  /**
   * Settles like the answer, and not before those that were sent earlier.
   * @template T
   * @param {Promise<T>} answer
   * @returns {Promise<T>}
   */
  async pass(answer) {
    const place = { isDone: false, tell() {} };
    this.#places.push(place);
    try {
      return await answer;
    } finally {
      place.isDone = true;
      if (this.#places[0] === place) this.#tellFirst();
      else await new Promise((resolve) => (place.tell = () => resolve(undefined)));
    }
  }

  #tellFirst() {
    while (this.#places[0]?.isDone) this.#places.shift()?.tell();
  }
}

module.exports = { EntryOrder };
