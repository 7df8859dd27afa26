'use strict';

const { BucketEvents } = require('./bucket-events.js');
const { endOf } = require('./keys.js');

/** @typedef {import('./keys.js').BucketKeys} BucketKeys */
/** @typedef {import('./session.js').Session} Session */
/** @typedef {import('../../../types/backend.d.ts').LockEvent} LockEvent */

/**
 * The watches of an agent, in each of its sessions. A watch sees all that its agent does after it:
 * that waits here until the cluster has answered.
 */
class AgentWatches {
  #bucket;
  #tell;
  /** @type {Map<number, { name: string | undefined, events: BucketEvents | undefined }>} */
  #watches = new Map();
  /** @type {Set<BucketEvents>} that the cluster has not answered */
  #beginning = new Set();
  /** @type {(() => void)[]} */
  #actions = [];

  /**
   * @param {BucketKeys} bucket
   * @param {(id: number, events: LockEvent[]) => void} tell
   */
  constructor(bucket, tell) {
    this.#bucket = bucket;
    this.#tell = tell;
  }

  /**
   * @param {number} id
   * @param {string | undefined} name
   * @param {Session | undefined} session  undefined: the next one begins with it
   */
  open(id, name, session) {
    this.#watches.set(id, { name, events: undefined });
    if (session !== undefined) this.#begin(id, session);
  }

  /** @param {number} id */
  close(id) {
    const events = this.#watches.get(id)?.events;
    this.#watches.delete(id);
    events?.close();
    if (events !== undefined) this.#onBegun(events);
  }

  closeAll() {
    for (const id of this.#watches.keys()) this.close(id);
  }

  /** @param {Session} session  a new one */
  onSession(session) {
    for (const id of this.#watches.keys()) this.#begin(id, session);
  }

  onSessionLost() {
    for (const watch of this.#watches.values()) watch.events = undefined;
    this.#beginning.clear();
    this.#run();
  }

  /**
   * Does it when all watches see it, in the order of the calls: at once where none begins.
   * @param {() => void} action
   */
  after(action) {
    this.#actions.push(action);
    this.#run();
  }

  #run() {
    while (this.#beginning.size === 0 && this.#actions.length > 0) {
      /** @type {() => void} */ (this.#actions.shift())();
    }
  }

  /**
   * @param {number} id
   * @param {Session} session
   */
  #begin(id, session) {
    const watch = this.#watches.get(id);
    if (watch === undefined || watch.events !== undefined) return;
    const events = new BucketEvents(this.#bucket, watch.name, (told) => this.#tell(id, told));
    watch.events = events;
    const subscription = session.watches.add({
      key: this.#bucket.root,
      end: endOf(this.#bucket.root),
      withPrevious: true,
      onEvents: (told) => events.take(told),
      onGap: () => events.skip(),
    });
    events.onClose = () => subscription.cancel();
    this.#beginning.add(events);
    const onBegun = () => this.#onBegun(events);
    events.begin(session, subscription).then(onBegun, onBegun);
  }

  /** It sees what happens, or never will. @param {BucketEvents} events */
  #onBegun(events) {
    if (this.#beginning.delete(events)) this.#run();
  }
}

module.exports = { AgentWatches };
