'use strict';

const { dateNow } = require('../../time.js');

/** @typedef {import('../../../types/backend.d.ts').LockBackendWatch} LockBackendWatch */
/** @typedef {import('../../../types/backend.d.ts').LockEvent} LockEvent */
/** @typedef {import('./lock-entry.js').LockEntry} LockEntry */

/** The maximum number of unread events; older ones are lost. */
const MAX_EVENTS = 4096;

/**
 * One watcher of a table, with its unread events.
 * @implements {LockBackendWatch}
 */
class LocalWatch {
  /** The agent that opened the watch. */
  owner;
  #name;
  #end;
  /** @type {LockEvent[]} oldest first */
  #events = [];
  /** How many events were lost before the oldest unread one. */
  #lost = 0;
  #isClosed = false;
  /** @type {(() => void) | undefined} ends the wait */
  #look = undefined;

  /**
   * @param {object} owner
   * @param {string | undefined} name  undefined: all
   * @param {(watch: LocalWatch) => void} end
   */
  constructor(owner, name, end) {
    this.owner = owner;
    this.#name = name;
    this.#end = end;
  }

  /** @param {LockEvent} event */
  tell(event) {
    if (this.#name !== undefined && this.#name !== event.name) return;
    this.#events.push(event);
    if (this.#events.length > MAX_EVENTS) {
      this.#events.shift();
      this.#lost += 1;
    }
    this.#look?.();
  }

  /** @param {number} max */
  async read(max) {
    while (this.#events.length === 0 && !this.#isClosed) {
      await /** @type {Promise<void>} */ (
        new Promise((look) => {
          this.#look = look;
        })
      );
    }
    const [first, ...others] = this.#events.splice(0, max);
    if (first === undefined) return [];
    const lost = this.#lost;
    this.#lost = 0;
    return [{ ...first, lost }, ...others];
  }

  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#events = [];
    this.#end(this);
    this.#look?.();
  }
}

/** The watchers of a table. */
class LocalWatches {
  /** @type {Set<LocalWatch>} */
  #watches = new Set();

  /**
   * @param {object} owner
   * @param {string | undefined} name
   */
  open(owner, name) {
    const watch = new LocalWatch(owner, name, (ended) => this.#watches.delete(ended));
    this.#watches.add(watch);
    return watch;
  }

  /** @param {object} owner */
  closeAllOf(owner) {
    for (const watch of this.#watches) if (watch.owner === owner) watch.close();
  }

  /**
   * @param {LockEvent['type']} type
   * @param {LockEntry} entry
   */
  tell(type, entry) {
    if (this.#watches.size === 0) return;
    const { name, mode, clientId } = entry.info;
    const event = {
      type,
      name,
      mode,
      clientId,
      threadId: entry.agent.threadId,
      token: entry.token,
      time: dateNow(),
      lost: 0,
      requestId: entry.number,
    };
    for (const watch of this.#watches) {
      watch.tell({ ...event, pid: entry.agent.pidFor(watch.owner) });
    }
  }
}

module.exports = { LocalWatches };
