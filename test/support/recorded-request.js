'use strict';

const DEFAULTS = { mode: 'exclusive', ifAvailable: false, steal: false, extras: undefined };

/** A request as a backend sees it, which records the backend's reports. */
class RecordedRequest {
  backendId = -1;
  tokenHigh = 0;
  tokenLow = 0;
  /** The reports of the backend, in order: 'granted', 'missed', 'failed: …' or 'lost: …'. */
  notices = [];
  #onTold = () => {};

  constructor(name, options = {}) {
    Object.assign(this, DEFAULTS, options, { name });
  }

  granted() {
    this.#tell('granted');
  }

  missed() {
    this.#tell('missed');
  }

  failed(error) {
    this.#tell(`failed: ${error.name}`);
  }

  lost(reason) {
    this.#tell(`lost: ${reason}`);
  }

  #tell(what) {
    this.notices.push(what);
    this.#onTold();
  }

  get token() {
    return (BigInt(this.tokenHigh >>> 0) << 32n) | BigInt(this.tokenLow >>> 0);
  }

  /** Resolves when the backend has said `what`. */
  until(what) {
    return new Promise((resolve) => {
      this.#onTold = () => {
        if (this.notices.includes(what)) resolve();
      };
      this.#onTold();
    });
  }
}

/** Makes a request of a backend; its outcome is asserted. */
function ask(backend, outcome, ...args) {
  const request = new RecordedRequest(...args);
  expect(backend.enqueue(request)).toBe(outcome);
  return request;
}

module.exports = { RecordedRequest, ask };
