'use strict';

const { WaitPath } = require('../wait-path.js');

/** @typedef {import('./lock-entry.js').LockEntry} LockEntry */
/** @typedef {import('./lock-table.js').Agent} Agent */

/**
 * Whether a queued request waits for its own thread.
 * @param {LockEntry} entry
 * @param {(agent: Agent) => boolean} isOfThread
 */
function wouldSelfDeadlock(entry, isOfThread) {
  const path = new WaitPath(entry);
  for (let before = entry.previous; before !== null; before = before.previous) {
    if (path.isStoppedBy(before, isOfThread(before.agent))) return true;
  }
  for (const holder of entry.resource.held) {
    if (path.isStoppedBy(holder, isOfThread(holder.agent))) return true;
  }
  return false;
}

module.exports = { wouldSelfDeadlock };
