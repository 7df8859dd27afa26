'use strict';

const { DeadlockError } = require('../../errors.js');
const { describeProcess } = require('../describe-process.js');

/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */

/** A longer cycle is cut after this many. */
const MAX_NAMED = 20;

/** @param {LockDetail} request  in a cycle */
function describeRequest(request) {
  const { name, mode, label, threadId, waited } = request;
  const about = [mode, describeProcess(request), `thread ${threadId}`];
  if (label !== '') about.unshift(`label '${label}'`);
  return `'${name}' (${about.join(', ')}; for ${Math.round(waited)} ms)`;
}

/**
 * @param {LockDetail[]} cycle
 * @param {string} holder  of a name
 */
function describeWaits(cycle, holder) {
  const lines = cycle.slice(0, MAX_NAMED).map((request, i) => {
    const { name } = cycle[(i + cycle.length - 1) % cycle.length];
    return `${holder} '${name}' waits for ${describeRequest(request)}`;
  });
  if (cycle.length > MAX_NAMED) lines.push(`… and ${cycle.length - MAX_NAMED} more`);
  return lines.join('; ');
}

/**
 * @param {LockDetail[]} cycle  each waits for a lock in whose callback the next was made
 * @returns {string}
 */
const describeCycle = (cycle) => `Deadlock: ${describeWaits(cycle, 'a holder of')}`;

/**
 * @param {LockDetail[]} cycle  each waits for a lock of the thread that made the next
 * @returns {string}
 */
function describePossibleCycle(cycle) {
  return (
    `Possible deadlock: ${describeWaits(cycle, 'the thread that holds')}. Nothing of this has ` +
    "changed for five seconds. Where a callback is not followed beyond its first 'await', " +
    "it is not known whether it waits for the request: pass 'deadlock' to have it followed."
  );
}

/** @param {LockDetail[]} cycle */
function toDeadlockError(cycle) {
  const members = cycle.map(({ name, mode, clientId, pid, host, threadId }) => ({
    ...{ name, mode, clientId, pid, threadId },
    ...(host === undefined ? {} : { host }),
  }));
  return new DeadlockError(describeCycle(cycle), members);
}

module.exports = { describeCycle, describePossibleCycle, toDeadlockError };
