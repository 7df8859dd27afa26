'use strict';

// Lists that cross in several messages: a line has a limit of its length, a list of requests none.

/** Escaped, a part takes at most six times as many bytes, and its last item as many again. */
const PART_UNITS = 2 ** 18;
/** An item without its name and label, about. */
const ITEM_UNITS = 256;

/**
 * @template T
 * @param {T[]} list
 * @param {(item: T) => number} unitsOf  its texts
 * @returns {T[][]} parts of bounded length, at least one
 */
function toParts(list, unitsOf) {
  /** @type {T[]} */
  let part = [];
  const parts = [part];
  let units = 0;
  for (const item of list) {
    if (units >= PART_UNITS) {
      part = [];
      parts.push(part);
      units = 0;
    }
    part.push(item);
    units += ITEM_UNITS + unitsOf(item);
  }
  return parts;
}

/**
 * All that a client has, in messages of bounded length: `hello`, and before it the requests that
 * would make it too long.
 * @param {{ requests: any[] }} state
 * @param {boolean} isHelper  the connection is of the helper thread
 * @returns {unknown[][]}
 */
function helloMessages(state, isHelper) {
  const parts = toParts(state.requests, ([, [, name, , , extras]]) => {
    return name.length + (extras?.[2].length ?? 0);
  });
  const requests = parts.pop();
  return [...parts.map((part) => ['+', part]), ['hello', { ...state, requests }, isHelper]];
}

module.exports = { helloMessages, toParts };
