'use strict';

/**
 * Callbacks in which a request had to wait, and which then ended their lock as they returned: true.
 * One that has gone on, by a promise, after it did not before: false.
 * @type {WeakMap<Function, boolean>}
 */
const habits = new WeakMap();

/** @param {Function} callback  that runs */
const endsAtReturn = (callback) => habits.get(callback) === true;

/**
 * @param {Function} callback  in which a request had to wait
 * @param {boolean} goesOn  it keeps its lock although it has returned
 */
function noteReturn(callback, goesOn) {
  if (!goesOn) {
    if (!habits.has(callback)) habits.set(callback, true);
  } else if (endsAtReturn(callback)) {
    habits.set(callback, false);
  }
}

module.exports = { endsAtReturn, noteReturn };
