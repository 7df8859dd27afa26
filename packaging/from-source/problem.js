'use strict';

/** A problem that the person who builds has to solve; the message says how. */
class Problem extends Error {}

module.exports = { Problem };
