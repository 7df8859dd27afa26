'use strict';

const { toCallback, toDictionarySource, toMember } = require('../webidl.js');
const { dispatcher } = require('./dispatcher.js');
const { toUnsignedLong } = require('../webidl-numbers.js');

/** @typedef {import('./idle-deadline.js').IdleDeadline} IdleDeadline */

/**
 * Standard: requestIdleCallback, #the-requestidlecallback-method.
 * @param {(deadline: IdleDeadline) => unknown} callback
 * @param {unknown} [options]
 * @returns {number} a handle for cancelIdleCallback()
 */
function requestIdleCallback(callback, options = undefined) {
  const steps = toCallback(callback);
  const source = toDictionarySource(options, 'IdleRequestOptions') ?? {};
  const timeout = toMember(source.timeout, toUnsignedLong, 0);
  return dispatcher.idleCallbacks.request(steps, timeout);
}

/**
 * Standard: requestIdleCallback, #the-cancelidlecallback-method.
 * @param {number} handle
 */
function cancelIdleCallback(handle) {
  if (arguments.length === 0) throw new TypeError('cancelIdleCallback() takes 1 argument, 0 given');
  dispatcher.idleCallbacks.cancel(toUnsignedLong(handle));
}

module.exports = { requestIdleCallback, cancelIdleCallback };
