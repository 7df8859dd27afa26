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

  /**
   * Puts an entry before those that come after it. Entries come in their order as a rule, so the
   * search begins at the end.
   * @param {E} entry  in no list
   * @param {(a: E, b: E) => boolean} isBefore
   */
  insert(entry, isBefore) {
    let next = null;
    for (let last = this.#last; last !== null && isBefore(entry, last); last = last.previous) {
      next = last;
    }
    if (next === null) {
      this.append(entry);
      return;
    }
    entry.list = this;
    entry.previous = next.previous;
    entry.next = next;
    if (entry.previous === null) this.first = entry;
    else entry.previous.next = entry;
    next.previous = entry;
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
