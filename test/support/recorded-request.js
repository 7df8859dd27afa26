'use strict';

const DEFAULTS = { mode: 'exclusive', ifAvailable: false, steal: false, extras: undefined };

/** A request as a backend sees it, which records the backend's reports. */
class RecordedRequest {
  backendId = -1;
  tokenHigh = 0;
  tokenLow = 0;
  /** The reports of the backend, in order: 'granted', 'missed', 'failed: …' or 'lost: …'. */
  notices = [];
  #onReport = () => {};

  constructor(name, options = {}) {
    Object.assign(this, DEFAULTS, options, { name });
  }

  granted() {
    this.#report('granted');
  }

  missed() {
    this.#report('missed');
  }

  failed(error) {
    this.#report(`failed: ${error.name}`);
  }

  lost(reason) {
    this.#report(`lost: ${reason}`);
  }

  #report(what) {
    this.notices.push(what);
    this.#onReport();
  }

  get token() {
    return (BigInt(this.tokenHigh >>> 0) << 32n) | BigInt(this.tokenLow >>> 0);
  }

  /** Resolves when the backend has said `what`. */
  until(what) {
    return new Promise((resolve) => {
      this.#onReport = () => {
        if (this.notices.includes(what)) resolve();
      };
      this.#onReport();
    });
  }
}

/** Makes a request of a backend; its outcome is asserted. */
function makeRequest(backend, outcome, ...args) {
  const request = new RecordedRequest(...args);
  expect(backend.enqueue(request)).toBe(outcome);
  return request;
}

/** A request holds the lock, without a wait. */
function isHeld(backend, name) {
  expect(backend.isLocked(name)).toBe(true);
}

/** Blocks until a request holds the lock: the releaser of a lock in etcd grants it later. */
function untilHeld(backend, name) {
  while (!backend.isLocked(name));
}

module.exports = { RecordedRequest, isHeld, makeRequest, untilHeld };
