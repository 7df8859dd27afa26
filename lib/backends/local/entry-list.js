'use strict';

/**
 * A list in the order of insertion, with removal from anywhere in constant time. An entry carries
 * its own links and is in one list at most.
 * @template {{ list: EntryList<any> | null, previous: any, next: any }} E
 */
class EntryList {
  /** @type {E | null} */
  first = null;
  size = 0;
  /** @type {E | null} */
  #last = null;

  /** @param {E} entry  in no list */
  append(entry) {
    entry.list = this;
    entry.previous = this.#last;
    if (this.#last === null) this.first = entry;
    else this.#last.next = entry;
    this.#last = entry;
    this.size += 1;
  }

  /** @param {E} entry  in this list */
  remove(entry) {
    const { previous, next } = entry;
    if (previous === null) this.first = next;
    else previous.next = next;
    if (next === null) this.#last = previous;
    else next.previous = previous;
    entry.list = entry.previous = entry.next = null;
    this.size -= 1;
  }

  *[Symbol.iterator]() {
    for (let entry = this.first; entry !== null; entry = entry.next) yield entry;
  }
}

module.exports = { EntryList };
