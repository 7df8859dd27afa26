'use strict';

/** More calls inside one another than a method of a backend makes. */
const CALLS = 64;
/** The same for its first calls: a function that is called is compiled then, which takes room. */
const FIRST_CALLS = 2500;
let firstLeft = 100;

/**
 * Throws RangeError at the end of the stack, as any call does there. A method of a backend that
 * calls this first has no effect if it throws, so it may be repeated where there is more room.
 */
function needRoom() {
  if (firstLeft === 0) return void descend(CALLS);
  descend(FIRST_CALLS);
  firstLeft -= 1;
}

/**
 * @param {number} calls
 * @returns {number}
 */
function descend(calls) {
  return calls === 0 ? 0 : descend(calls - 1) + 1; // no tail call
}

module.exports = { needRoom };
