'use strict';

const { sharedByCopies } = require('../../copies.js');

/**
 * Sessions that end after the last 'exit' listener of the thread. The kernel releases locks on this
 * machine at that moment; a cluster without a notice of it would keep them for the TTL.
 *
 * Node has no event behind 'exit': process.emit() is wrapped, once for all copies of this module.
 * A package that wraps it later (signal-exit) still runs its callbacks after the session's end.
 */

/** @typedef {{ leave(): void }} Leaver */

const leavers = () =>
  sharedByCopies('leaveAfterExit.1', () => {
    /** @type {Set<Leaver>} */
    const all = new Set();
    const { emit } = /** @type {any} */ (process);
    process.emit = function emitThenLeave(/** @type {any[]} */ ...args) {
      try {
        return Reflect.apply(emit, this, args);
      } finally {
        if (args[0] === 'exit') for (const leaver of all) leaver.leave();
      }
    };
    return all;
  });

/** @param {Leaver} leaver */
const leaveAfterExit = (leaver) => leavers().add(leaver);

/** @param {Leaver} leaver */
const doNotLeaveAfterExit = (leaver) => leavers().delete(leaver);

module.exports = { doNotLeaveAfterExit, leaveAfterExit };
