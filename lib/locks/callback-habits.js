'use strict';

/**
 * What callbacks that ask for a lock with themselves as the callback again, and have to wait, do
 * then. True: so far they have ended their lock as they returned. False: one that did so has kept
 * its lock once, by returning a promise.
 * @type {WeakMap<Function, boolean>}
 */
const habits = new WeakMap();

/** @param {Function} callback */
const endsAtReturn = (callback) => habits.get(callback) === true;

/**
 * @param {Function} callback  that has asked again
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
