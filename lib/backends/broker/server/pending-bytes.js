'use strict';

const SIZE = 2 ** 16;
/** In UTF-8, of one code unit. */
const MAX_BYTES_PER_UNIT = 3;

/** Text that is to be written, in one piece of memory that is used over and over. */
class PendingBytes {
  bytes = Buffer.allocUnsafeSlow(SIZE);
  length = 0;

  /** @param {string} text */
  add(text) {
    const wanted = this.length + MAX_BYTES_PER_UNIT * text.length;
    if (wanted > this.bytes.length) this.#grow(wanted);
    this.length += this.bytes.write(text, this.length);
  }

  /** @param {number} wanted */
  #grow(wanted) {
    const larger = Buffer.allocUnsafeSlow(2 * wanted);
    this.bytes.copy(larger, 0, 0, this.length);
    this.bytes = larger;
  }

  /** What was added is not needed any more. */
  clear() {
    this.length = 0;
    if (this.bytes.length > SIZE) this.bytes = Buffer.allocUnsafeSlow(SIZE);
  }
}

module.exports = { PendingBytes };
