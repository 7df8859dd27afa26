'use strict';

// Stress tests and random histories find more the longer they are. `npm test` plays a part of each,
// with another seed each time, and the build server (`.ci/run`) the whole:
// HOLDFAST_TEST_LENGTH=whole.

/**
 * How long a test is to be: what its own variable says, or else as the run.
 * @param {string | undefined} variable  of this test
 * @param {{ whole: number, part: number }} lengths
 */
function lengthOf(variable, { whole, part }) {
  const chosen = variable === undefined ? undefined : process.env[variable];
  if (chosen !== undefined) return Number(chosen);
  return process.env.HOLDFAST_TEST_LENGTH === 'whole' ? whole : part;
}

/** Makes the tests that run from here on as long as they can be. */
function beWhole() {
  process.env.HOLDFAST_TEST_LENGTH = 'whole';
}

module.exports = { beWhole, lengthOf };
