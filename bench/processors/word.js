'use strict';

/** Words in one cache line that all processors change: one of them at a time has the line. */
class Word {
  #freeAt = 0;
  #cpu = -1;

  /**
   * @param {number} transferNs  until another processor has the line
   * @param {number} heldNs  while it has it
   */
  constructor(transferNs, heldNs) {
    this.transferNs = transferNs;
    this.heldNs = heldNs;
  }

  /**
   * @param {number} now  of the timeline: who comes first has it first
   * @param {number} cpu
   * @returns {number} how long this takes, with the wait for those before
   */
  use(now, cpu) {
    const start = Math.max(now, this.#freeAt);
    this.#freeAt = start + (this.#cpu === cpu ? 0 : this.transferNs) + this.heldNs;
    this.#cpu = cpu;
    return this.#freeAt - now;
  }
}

module.exports = { Word };
