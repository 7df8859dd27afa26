'use strict';

/** Detects misspelt options: a dictionary of Web IDL ignores members that it does not know. */

const KNOWN = new Set([
  'ifAvailable',
  'mode',
  'signal',
  'steal',
  'deadlock',
  'holdLimit',
  'label',
  'limit',
  'reentrant',
  'timeout',
]);

/** Of a mutex, a semaphore. */
const KNOWN_OF_MUTEX = new Set([...KNOWN, 'blocking']);

/** Programs make such mistakes early; later calls must not pay for the check. */
const MAX_LOOKS = 1000;
const MAX_DISTANCE = 2;

let looksLeft = MAX_LOOKS;
/** @type {Set<string>} that were reported */
const warned = new Set();

/**
 * Warns once for each member that is not an option but nearly has the name of one.
 * @param {object} options  as passed; only the names of its members are read
 * @param {Set<string>} [known]
 */
function warnOfMisspeltOptions(options, known = KNOWN) {
  if (looksLeft === 0) return;
  looksLeft -= 1;
  for (const name in options) {
    if (!known.has(name) && !warned.has(name)) warnIfNearlyRight(name, known);
  }
}

/**
 * @param {string} name
 * @param {Set<string>} known
 */
function warnIfNearlyRight(name, known) {
  const meant = [...known].find((right) => isNear(name.toLowerCase(), right.toLowerCase()));
  if (meant === undefined) return;
  warned.add(name);
  process.emitWarning(`'${name}' is no option of a lock request: did you mean '${meant}'?`, {
    type: 'HoldfastWarning',
    code: 'HOLDFAST_UNKNOWN_OPTION',
  });
}

/**
 * @param {string} a
 * @param {string} b
 */
function isNear(a, b) {
  if (Math.abs(a.length - b.length) > MAX_DISTANCE) return false;
  return editDistance(a, b) <= Math.min(MAX_DISTANCE, Math.floor(b.length / 3));
}

/**
 * The Levenshtein distance.
 * @param {string} a
 * @param {string} b
 */
function editDistance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i += 1) {
    const above = row;
    row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = above[j - 1] + Number(a[i - 1] !== b[j - 1]);
      row.push(Math.min(replaced, above[j] + 1, row[j - 1] + 1));
    }
  }
  return row[b.length];
}

module.exports = { KNOWN_OF_MUTEX, warnOfMisspeltOptions };
