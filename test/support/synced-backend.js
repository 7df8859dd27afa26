'use strict';

const { GRANTED, MISSED, QUEUED } = require('../../lib/backends/outcome.js');
const { RecordedRequest } = require('./recorded-request.js');

/** By what waitSync() says without waiting. */
const OUTCOMES = { granted: GRANTED, missed: MISSED, timeout: QUEUED, deadlock: QUEUED };

/** A name that no test uses. */
const MARK = 'contract: mark';

/** A watch that gives, at each read, all that has happened by then. */
class SyncedWatch {
  #backend;
  #watch;
  #name;
  #events = [];

  constructor(backend, watch, name) {
    this.#backend = backend;
    this.#watch = watch;
    this.#name = name;
  }

  async read(max) {
    this.#leaveMark();
    let isMarked = false;
    while (!isMarked || this.#events.length === 0) {
      const events = await this.#watch.read(max);
      if (events.length === 0) return [];
      isMarked ||= events.some((event) => this.#isMark(event));
      const wanted =
        this.#name === undefined ? ({ name }) => name !== MARK : ({ name }) => name === this.#name;
      this.#events.push(...events.filter(wanted));
    }
    return this.#events.splice(0, max);
  }

  /** The end of this watcher's own mark: another agent may leave marks at the same time. */
  #isMark({ name, type, clientId }) {
    return name === MARK && type === 'released' && clientId === this.#backend.clientId;
  }

  /** Events that arrive before the mark's end happened before the mark. */
  #leaveMark() {
    const mark = new RecordedRequest(MARK);
    try {
      this.#backend.enqueue(mark);
    } catch {
      return; // closed: no mark is needed
    }
    mark.until('granted').then(() => this.#backend.release(mark));
  }

  close() {
    this.#watch.close();
  }
}

/**
 * A backend that answers late, made to answer at once: each call blocks until the server of the
 * locks has taken it. The contract of backends is tested through this.
 */
class SyncedBackend {
  #backend;

  constructor(backend) {
    this.#backend = backend;
  }

  get clientId() {
    return this.#backend.clientId;
  }

  enqueue(request) {
    this.#backend.enqueue(request);
    this.#backend.isLocked(request.name); // follows it
    return OUTCOMES[this.#backend.waitSync(request, 0)];
  }

  release(request) {
    return this.#backend.releaseSync(request);
  }

  cancel(request, isTimeout) {
    this.#backend.cancel(request, isTimeout);
    this.#backend.isLocked(request.name);
  }

  snapshot() {
    return this.#backend.snapshot();
  }

  inspect() {
    return this.#backend.inspect();
  }

  isLocked(name, min) {
    return this.#backend.isLocked(name, min);
  }

  watch(name) {
    const watch = this.#backend.watch(undefined);
    this.#backend.isLocked(MARK); // follows it
    return new SyncedWatch(this.#backend, watch, name);
  }

  close() {
    this.#backend.close();
    this.#backend.leave(); // waits until that is in effect
  }
}

module.exports = { SyncedBackend };
