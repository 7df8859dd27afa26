'use strict';

/**
 * Sessions that end after the last 'exit' listener of the thread. The kernel releases locks on this
 * machine at that moment; a cluster that is not told so would keep them for the TTL.
 *
 * Node has no event behind 'exit': process.emit() is wrapped, once for all copies of this module.
 */

/** @typedef {{ leave(): void }} Leaver */

const KEY = Symbol.for('holdfast.leaveAfterExit');

/** @returns {Set<Leaver>} */
function leavers() {
  const holder = /** @type {any} */ (process);
  if (holder[KEY] !== undefined) return holder[KEY];
  const { emit } = holder;
  /** @type {Set<Leaver>} */
  const all = new Set();
  Object.defineProperty(holder, KEY, { value: all });
  holder.emit = function emitThenLeave(/** @type {any[]} */ ...args) {
    const isHeard = Reflect.apply(emit, this, args);
    if (args[0] === 'exit') for (const leaver of all) leaver.leave();
    return isHeard;
  };
  return all;
}

/** @param {Leaver} leaver */
const leaveAfterExit = (leaver) => leavers().add(leaver);

/** @param {Leaver} leaver */
const doNotLeaveAfterExit = (leaver) => leavers().delete(leaver);

module.exports = { doNotLeaveAfterExit, leaveAfterExit };
