'use strict';

/**
 * A request that cannot even be queued for so long is worth a word: somebody is stopped in the
 * middle of a change of the lock table, by a debugger, ^Z or a frozen container.
 * @param {string} name
 * @param {number} pid  of the process in the way; 0: unknown
 */
function warnOfStall(name, pid) {
  const who = pid === 0 ? 'a process' : `process ${pid}`;
  process.emitWarning(
    `The request for '${name}' has waited for a second because ${who} is stopped ` +
      'while it updates the lock table. It is queued as soon as that process continues or ends.',
    { type: 'HoldfastWarning', code: 'HOLDFAST_STALLED' },
  );
}

module.exports = { warnOfStall };
