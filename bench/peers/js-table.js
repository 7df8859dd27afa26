'use strict';

// The floor: a table of named exclusive locks for one thread, with nothing but what that takes.

class NamedLocks {
  /** @type {Map<string, { first: Waiter | undefined, last: Waiter | undefined }>} */
  #names = new Map();

  /**
   * @template T
   * @param {string} name
   * @param {() => T} section
   */
  async run(name, section) {
    const queue = this.#names.get(name);
    if (queue === undefined) this.#names.set(name, { first: undefined, last: undefined });
    else await new Promise((grant) => append(queue, grant));
    try {
      return await section();
    } finally {
      this.#release(name);
    }
  }

  /** @param {string} name */
  #release(name) {
    const queue = this.#names.get(name);
    const next = queue.first;
    if (next === undefined) {
      this.#names.delete(name);
      return;
    }
    queue.first = next.next;
    next.grant();
  }
}

/** @typedef {{ grant: () => void, next: Waiter | undefined }} Waiter */

function append(queue, grant) {
  const waiter = { grant, next: undefined };
  if (queue.first === undefined) queue.first = waiter;
  else queue.last.next = waiter;
  queue.last = waiter;
}

/** @param {import('./peers.js').PeerSetup} setup */
function open({ name }) {
  const locks = new NamedLocks();
  return { run: (section) => locks.run(name, section) };
}

module.exports = { NamedLocks, open };
