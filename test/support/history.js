'use strict';

const { setImmediate: nextTurn } = require('node:timers/promises');

/**
 * A history is an array of bursts, a burst an array of steps that are made in one go. After each
 * burst everything that it set off is waited for. Steps:
 *   { kind: 'request', manager, name, mode, way, limit }  way: 'wait', 'ifAvailable', 'steal',
 *     'signal'; limit counts where the mode is 'shared', 0 for none
 *   { kind: 'finish', request, isFailure }  ends the callback, also one that is still to come
 *   { kind: 'abort', request }
 * `manager`, `name` and `request` are indexes; that of a request counts the requests made before,
 * modulo their number.
 */

/** A mode as a history shows it: 'exclusive', 'shared', or 'shared/2' with a limit of 2. */
const modeOf = ({ mode, limit }) => (limit > 0 ? `${mode}/${limit}` : mode);

/** One request of a history, and what became of it. */
class PlayedRequest {
  isCalled = false;
  isSettled = false;
  #controller = new AbortController();
  #finish;
  #finished = new Promise((resolve, reject) => {
    this.#finish = { resolve, reject };
  });

  constructor(id, step, log) {
    this.id = id;
    this.step = step;
    this.log = log;
    this.#finished.catch(() => {}); // the callback may never come to return it
  }

  start(locks, name) {
    const { mode, way, limit } = this.step;
    const options = { mode: way === 'steal' ? 'exclusive' : mode };
    if (options.mode === 'shared' && limit > 0) options.limit = limit;
    if (way === 'signal') options.signal = this.#controller.signal;
    else if (way !== 'wait') options[way] = true;
    this.mode = modeOf(options);
    locks
      .request(name, options, (lock) => {
        this.isCalled = true;
        this.isRefused = lock === null;
        this.log(`${this.id} called with ${lock === null ? null : lock.mode}`);
        return this.#finished;
      })
      .then(
        (value) => this.#settle(`fulfilled with ${value}`),
        (reason) => this.#settle(`rejected with ${reason?.name ?? reason} ${reason?.reason ?? ''}`),
      );
  }

  #settle(how) {
    this.isSettled = true;
    this.log(`${this.id} ${how}`);
  }

  finish(isFailure) {
    if (isFailure) this.#finish.reject(`failure of ${this.id}`);
    else this.#finish.resolve(`result of ${this.id}`);
  }

  abort() {
    this.#controller.abort(`reason of ${this.id}`);
  }

  /** What inspect() is to show of this request once everything on its way has arrived. */
  get place() {
    if (this.isSettled || this.isRefused) return undefined;
    return this.isCalled ? 'held' : 'pending';
  }
}

/** Plays histories on lock managers that share a bucket and writes down what can be observed. */
class HistoryPlayer {
  #managers;
  #clientIds;
  #prefix;
  #requests = [];
  #events = [];
  #observer;

  /**
   * @param {import('../../types').LockManager[]} managers
   * @param {string[]} clientIds  of the managers
   * @param {string} prefix  of all names, new for each history
   */
  constructor(managers, clientIds, prefix) {
    this.#managers = managers;
    this.#clientIds = clientIds;
    this.#prefix = prefix;
    this.#observer = managers[0];
  }

  /** Gives, for each burst, the events and the snapshot that followed. */
  async play(history) {
    const record = [];
    try {
      for (const [index, burst] of history.entries()) {
        this.#observer = this.#managers[index % this.#managers.length];
        for (const step of burst) this.#make(step);
        const snapshot = await this.#settled();
        record.push({ events: this.#events.splice(0).sort(), snapshot });
      }
    } finally {
      for (const request of this.#requests) request.abort();
      for (const request of this.#requests) request.finish(false);
      await this.#settled();
    }
    return record;
  }

  #make(step) {
    if (step.kind === 'request') {
      const id = this.#requests.length;
      const request = new PlayedRequest(id, step, (event) => this.#events.push(event));
      this.#requests.push(request);
      request.start(this.#managers[step.manager], `${this.#prefix} ${step.name}`);
      return;
    }
    const request = this.#requests[step.request % this.#requests.length];
    if (step.kind === 'finish') request?.finish(step.isFailure);
    else request?.abort();
  }

  /** Waits until inspect() shows exactly what the requests know of themselves; gives it. */
  async #settled() {
    for (;;) {
      await nextTurn();
      const shown = await this.#snapshot();
      const isSame = ['held', 'pending'].every(
        (place) => countsOf(shown[place]) === countsOf(this.#expected(place)),
      );
      if (isSame) return shown;
    }
  }

  #expected(place) {
    return this.#requests
      .filter((request) => request.place === place)
      .map(({ step, mode }) => `${step.name} ${mode} ${step.manager}`);
  }

  /** The snapshot of this history's names: sorted by name, in the given order for each. */
  async #snapshot() {
    const { held, pending } = await this.#observer.inspect();
    return { held: this.#linesOf(held), pending: this.#linesOf(pending) };
  }

  #linesOf(details) {
    const prefix = `${this.#prefix} `;
    return details
      .filter(({ name }) => name.startsWith(prefix))
      .map((detail) => ({
        name: detail.name.slice(prefix.length),
        mode: modeOf(detail),
        manager: this.#clientIds.indexOf(detail.clientId),
      }))
      .map(({ name, mode, manager }) => ({ name, line: `${name} ${mode} ${manager}` }))
      .sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)))
      .map(({ line }) => line);
  }
}

const countsOf = (lines) => [...lines].sort().join('\n');

/** The clientIds of lock managers, as query() shows them. */
async function clientIdsOf(managers) {
  const ids = [];
  for (const locks of managers) {
    const id = await locks.request('history: who am I', async () => {
      const { held } = await locks.query();
      return held.find(({ name }) => name === 'history: who am I').clientId;
    });
    ids.push(id);
  }
  return ids;
}

module.exports = { HistoryPlayer, clientIdsOf };
