'use strict';

/**
 * A binary heap whose items store their index, so that any of them can leave it or move in it in
 * O(log n). An item is in one heap at most.
 * @template {{ heapIndex: number }} T
 */
class IndexedHeap {
  /** @type {T[]} no item comes before its parent, at (index - 1) >> 1 */
  items = [];
  #comesBefore;

  /** @param {(a: T, b: T) => boolean} comesBefore */
  constructor(comesBefore) {
    this.#comesBefore = comesBefore;
  }

  get size() {
    return this.items.length;
  }

  /** @returns {T | undefined} */
  get first() {
    return this.items[0];
  }

  /** @param {T} item */
  add(item) {
    this.items.push(item);
    this.#moveUp(item, this.items.length - 1);
  }

  /** @param {T} item  of this heap */
  remove(item) {
    const index = item.heapIndex;
    const last = /** @type {T} */ (this.items.pop());
    item.heapIndex = -1;
    if (last === item) return;
    last.heapIndex = index;
    this.items[index] = last;
    this.update(last);
  }

  /** @param {T} item  of this heap, which may compare in another way now */
  update(item) {
    if (this.items.length === 1) return;
    this.#moveUp(item, item.heapIndex);
    this.#moveDown(item, item.heapIndex);
  }

  /**
   * @param {T} item
   * @param {number} start  the item's index, or a free index
   */
  #moveUp(item, start) {
    let index = start;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#comesBefore(item, this.items[parent])) break;
      this.#put(this.items[parent], index);
      index = parent;
    }
    this.#put(item, index);
  }

  /**
   * @param {T} item
   * @param {number} start  its index
   */
  #moveDown(item, start) {
    let index = start;
    for (;;) {
      const child = this.#firstChild(index);
      if (child === undefined || !this.#comesBefore(child, item)) break;
      const next = child.heapIndex;
      this.#put(child, index);
      index = next;
    }
    this.#put(item, index);
  }

  /** @param {number} index */
  #firstChild(index) {
    const left = this.items[2 * index + 1];
    const right = this.items[2 * index + 2];
    return right !== undefined && this.#comesBefore(right, left) ? right : left;
  }

  /**
   * @param {T} item
   * @param {number} index
   */
  #put(item, index) {
    this.items[index] = item;
    item.heapIndex = index;
  }
}

module.exports = { IndexedHeap };
