'use strict';

const { lazy } = require('../lazy.js');
const { toCallback, toDictionarySource, toMember } = require('../webidl.js');
const { toUnsignedLong } = require('../webidl.js');

const idleCallbacks = lazy(() => require('./dispatcher.js').dispatcher.idleCallbacks);

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
  return idleCallbacks().request(steps, timeout);
}

/**
 * Standard: requestIdleCallback, #the-cancelidlecallback-method.
 * @param {number} handle
 */
function cancelIdleCallback(handle) {
  if (arguments.length === 0) throw new TypeError('cancelIdleCallback() takes 1 argument, 0 given');
  idleCallbacks().cancel(toUnsignedLong(handle));
}

module.exports = { requestIdleCallback, cancelIdleCallback };
