'use strict';

const { sharedByCopies } = require('../copies.js');

/** @typedef {import('../../types/locks.d.ts').LockMode} LockMode */

/**
 * An agent, as copies of every version of this package see it. The form of this never changes.
 * @typedef {object} ThreadUser
 * @property {string} place  the address of its lock table, as inspect() shows it
 * @property {(name: string) => LockMode[]} modesOf  of its locks and waiting requests of that name
 */

/** @type {WeakRef<ThreadUser>[]} the agents of this thread, of all copies */
const users = sharedByCopies('threadUsers', () => []);
/** The agents of this copy, which knows more of them. */
const own = new WeakSet();

/** @param {ThreadUser} user  kept weakly */
function addThreadUser(user) {
  own.add(user);
  const others = users.filter((other) => other.deref() !== undefined);
  users.splice(0, Infinity, ...others, new WeakRef(user));
}

/**
 * Whether a request that has to wait waits for this thread: for a lock or an earlier request of
 * another copy. Neither can end while the thread is blocked. Two shared requests may have the lock
 * together, so those are not known to wait for one another.
 * @param {string | undefined} place  the address of its lock table
 * @param {{ name: string, mode: LockMode }} request
 */
function waitsForOtherCopy(place, { name, mode }) {
  return users.some((other) => {
    const user = other.deref();
    if (user === undefined || own.has(user) || user.place !== place) return false;
    return user.modesOf(name).some((it) => it === 'exclusive' || mode === 'exclusive');
  });
}

module.exports = { addThreadUser, waitsForOtherCopy };
