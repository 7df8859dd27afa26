'use strict';

/**
 * What callbacks do that have asked for a lock with themselves as the callback again, and had to
 * wait. True: they have ended their lock as they returned, each time since they first did so.
 * False, and for good: after that they have kept it once, by returning a promise.
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
