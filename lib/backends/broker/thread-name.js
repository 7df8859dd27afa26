'use strict';

const { createClientId } = require('../client-id.js');

/** One for all copies of this module that a thread may have loaded. */
const KEY = Symbol.for('holdfast.thread');

/** What tells this thread from all others, in whatever process and namespace. */
function threadName() {
  const holder = /** @type {any} */ (globalThis);
  if (holder[KEY] === undefined) Object.defineProperty(holder, KEY, { value: createClientId() });
  return /** @type {string} */ (holder[KEY]);
}

module.exports = { threadName };
