'use strict';

/** @param {{ name: string, message: string, code: string }} error  of the native part */
function toError({ name, message, code }) {
  if (name === 'TypeError') return new TypeError(message);
  return Object.assign(new DOMException(message, name), { reason: code });
}

module.exports = { toError };
