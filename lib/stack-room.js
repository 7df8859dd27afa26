'use strict';

/** More room than a method of a backend takes: about 2.5 KB, where the deepest takes 1 KB. */
const CALLS = 8;
/** The same for its first calls: a function that is called is compiled then, which takes room. */
const FIRST_CALLS = 900;
const FIRST = 100;

/**
 * Makes a check for one method: it throws RangeError at the end of the stack, as any call does
 * there. The method calls it first, so it has no effect if it throws, and may be repeated where
 * there is more room.
 * @param {number} [calls]  of descend(), for a method that takes more room
 */
function createRoomCheck(calls = CALLS) {
  let firstLeft = FIRST;
  return () => {
    if (firstLeft === 0) return void descend(calls);
    descend(FIRST_CALLS);
    firstLeft -= 1;
  };
}

/** One for each method of a backend, all of which count their own first calls. */
const createRoomChecks = () => ({
  enqueue: createRoomCheck(),
  release: createRoomCheck(),
  releaseSync: createRoomCheck(),
  cancel: createRoomCheck(),
  waitSync: createRoomCheck(),
});

/* eslint-disable max-params, no-unused-vars -- for the room */
/**
 * Each call takes room for all its parameters, 8 bytes each, whether they are passed or not. So a
 * few calls take much room in little time.
 * @type {(calls: number) => number}
 */
// @ts-ignore -- the other parameters have no types
// prettier-ignore
const descend = (
  calls, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16,
  a17, a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32,
) => (calls === 0 ? 0 : descend(calls - 1) + 1); // no tail call
/* eslint-enable max-params, no-unused-vars */

module.exports = { createRoomCheck, createRoomChecks };
