'use strict';

/** @typedef {import('./scheduling-state.js').SchedulingState} SchedulingState */

/**
 * Copies of states, one for each run of tasks that hands the state on: when the last copy has been
 * collected, no promise and no resource of the process has a state.
 */
class StateCopies {
  /** @type {Map<SchedulingState, SchedulingState>} of the current run */
  #ofRun = new Map();
  /** @type {WeakSet<SchedulingState>} */
  #all = new WeakSet();
  #living = 0;
  /** @type {FinalizationRegistry<undefined>} */
  #registry;

  /** @param {() => void} onNone  called when the last one has been collected */
  constructor(onNone) {
    this.#registry = new FinalizationRegistry(() => {
      this.#living -= 1;
      if (this.#living === 0) onNone();
    });
  }

  /** How many may be somewhere. */
  get size() {
    return this.#living;
  }

  /**
   * @param {SchedulingState} state  or a copy
   * @returns {SchedulingState}
   */
  of(state) {
    if (this.#all.has(state)) return state;
    let copy = this.#ofRun.get(state);
    if (copy === undefined) {
      copy = { ...state };
      this.#ofRun.set(state, copy);
      this.#all.add(copy);
      this.#registry.register(copy, undefined);
      this.#living += 1;
    }
    return copy;
  }

  endRun() {
    if (this.#ofRun.size > 0) this.#ofRun.clear();
  }
}

module.exports = { StateCopies };
