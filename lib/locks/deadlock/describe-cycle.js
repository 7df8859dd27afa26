'use strict';

/** @typedef {import('../../../types/backend.d.ts').LockDetail} LockDetail */

/** @param {LockDetail} request  in a cycle */
function describeRequest({ name, mode, label, pid, threadId, waited }) {
  const about = [mode, `process ${pid}`, `thread ${threadId}`];
  if (label !== '') about.unshift(`label '${label}'`);
  return `'${name}' (${about.join(', ')}; for ${Math.round(waited)} ms)`;
}

/**
 * @param {LockDetail[]} cycle  each waits for a lock in whose callback the next was made
 * @returns {string}
 */
function describeCycle(cycle) {
  const lines = cycle.map((request, i) => {
    const { name } = cycle[(i + cycle.length - 1) % cycle.length];
    return `a holder of '${name}' waits for ${describeRequest(request)}`;
  });
  return `Deadlock: ${lines.join('; ')}`;
}

module.exports = { describeCycle };
