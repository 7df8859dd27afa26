'use strict';

/**
 * Backends that release everything when the process (or, in a worker, the thread) exits normally.
 * Peers detect every other end as well; a normal exit spares them the search.
 */

/** @typedef {{ leave(): void }} Leaver */

/** One list, and one listener, for all copies of this module that a program may have loaded. */
const KEY = Symbol.for('holdfast.leaveAtExit');

/** @returns {Set<Leaver>} */
function leavers() {
  const holder = /** @type {any} */ (process);
  if (holder[KEY] === undefined) {
    Object.defineProperty(holder, KEY, { value: new Set() });
    process.on('exit', () => {
      for (const leaver of holder[KEY]) leaver.leave();
    });
  }
  return holder[KEY];
}

/** @param {Leaver} leaver */
const leaveAtExit = (leaver) => leavers().add(leaver);

/** @param {Leaver} leaver */
const doNotLeaveAtExit = (leaver) => leavers().delete(leaver);

module.exports = { leaveAtExit, doNotLeaveAtExit };
