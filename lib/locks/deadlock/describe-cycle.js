'use strict';

const { DeadlockError } = require('../../errors.js');
const { describeProcess } = require('../describe-process.js');

/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */

/** A message names so many requests of a cycle; the error has all of them. */
const MAX_NAMED = 100;

/** @param {LockDetail} request  in a cycle */
function describeRequest(request) {
  const { name, mode, label, threadId, waited } = request;
  const about = [mode, describeProcess(request), `thread ${threadId}`];
  if (label !== '') about.unshift(`label '${label}'`);
  return `'${name}' (${about.join(', ')}; for ${Math.round(waited)} ms)`;
}

/**
 * @param {LockDetail[]} cycle  each waits for a lock in whose callback the next was made
 * @returns {string}
 */
function describeCycle(cycle) {
  const lines = cycle.slice(0, MAX_NAMED).map((request, i) => {
    const { name } = cycle[(i + cycle.length - 1) % cycle.length];
    return `a holder of '${name}' waits for ${describeRequest(request)}`;
  });
  if (cycle.length > MAX_NAMED) lines.push(`… and ${cycle.length - MAX_NAMED} more`);
  return `Deadlock: ${lines.join('; ')}`;
}

/**
 * @param {LockDetail[]} cycle  from the request that the warning is about
 * @returns {string}
 */
function describeWarning(cycle) {
  const [{ name }] = cycle;
  const enclosing = cycle[cycle.length - 1].name;
  return (
    `${describeCycle(cycle)}. It does not end if the callback of '${enclosing}' awaits this ` +
    `request for '${name}'; otherwise pass \`deadlock: 'ignore'\` to the request.`
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

module.exports = { describeCycle, describeWarning, toDeadlockError };
