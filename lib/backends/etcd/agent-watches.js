'use strict';

const { clearTimeout, setTimeout } = require('../../time.js');
const { BucketEvents } = require('./bucket-events.js');

/** @typedef {import('./keys.js').BucketKeys} BucketKeys */
/** @typedef {import('./session.js').Session} Session */
/** @typedef {import('../../../types/backend.d.ts').LockEvent} LockEvent */

/**
 * @typedef {object} Watch
 * @property {string | undefined} name
 * @property {BucketEvents | undefined} events  of this session
 * @property {boolean} hasMissed  what happened between two sessions
 */

/** The longest that a watch whose first read has no answer holds up what comes after it. */
const MAX_HOLD_UP_MS = 5000;
/** How long after a refusal of that read it is tried again. */
const RETRY_MS = 1000;

/**
 * The watches of an agent, in each of its sessions. A watch sees all that its agent does after it.
 * So the agent's actions wait here for the read after whose revision the watch begins. Without an
 * answer to the read, the agent continues, and the watch reports a gap with its first events.
 */
class AgentWatches {
  #bucket;
  #tell;
  /** @type {Map<number, Watch>} */
  #watches = new Map();
  #maxHoldUpMs;
  #retryMs;
  /** @type {Map<BucketEvents, NodeJS.Timeout>} whose first read has no answer, which wait */
  #beginning = new Map();
  /** @type {(() => void)[]} */
  #actions = [];

  /**
   * @param {BucketKeys} bucket
   * @param {(id: number, events: LockEvent[]) => void} tell
   * @param {{ maxHoldUpMs?: number, retryMs?: number }} [times]
   */
  constructor(bucket, tell, { maxHoldUpMs = MAX_HOLD_UP_MS, retryMs = RETRY_MS } = {}) {
    this.#bucket = bucket;
    this.#tell = tell;
    this.#maxHoldUpMs = maxHoldUpMs;
    this.#retryMs = retryMs;
  }

  /**
   * @param {number} id
   * @param {string | undefined} name
   * @param {Session | undefined} session  undefined: the next one begins with it
   */
  open(id, name, session) {
    this.#watches.set(id, { name, events: undefined, hasMissed: false });
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
    for (const watch of this.#watches.values()) {
      watch.events = undefined;
      watch.hasMissed = true;
    }
    for (const timer of this.#beginning.values()) clearTimeout(timer);
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
    if (watch.hasMissed) events.skip();
    watch.hasMissed = false;
    const goOn = () => {
      events.skip();
      this.#onBegun(events);
    };
    this.#beginning.set(events, setTimeout(goOn, this.#maxHoldUpMs));
    const onFailed = () => {
      this.#onBegun(events);
      if (watch.events === events) this.#beginLater(id, watch, session);
    };
    events.begin(session).then(() => this.#onBegun(events), onFailed);
  }

  /**
   * The read with which it begins was refused: a right may come back.
   * @param {number} id
   * @param {Watch} watch
   * @param {Session} session
   */
  #beginLater(id, watch, session) {
    watch.events = undefined;
    watch.hasMissed = true;
    const begin = () => {
      if (!session.isOver && this.#watches.get(id) === watch) this.#begin(id, session);
    };
    setTimeout(begin, this.#retryMs).unref();
  }

  /** It sees what happens, or nothing waits for it. @param {BucketEvents} events */
  #onBegun(events) {
    clearTimeout(this.#beginning.get(events));
    if (this.#beginning.delete(events)) this.#run();
  }
}

module.exports = { AgentWatches };
