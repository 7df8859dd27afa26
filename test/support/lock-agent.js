'use strict';

const assert = require('node:assert/strict');
const { setImmediate: nextTurn } = require('node:timers/promises');
const holdfast = require('../../lib/index.js');

/**
 * The parts of an error or another rejection reason that can cross to another thread or process.
 */
function describeReason(reason) {
  if (!(reason instanceof Error || reason instanceof DOMException)) return { value: reason };
  const { name, message, stack, token } = reason;
  return {
    name,
    message,
    stack,
    isLockLost: reason instanceof holdfast.LockLostError,
    reason: reason.reason,
    token,
  };
}

function describeLock(lock) {
  return lock === null ? null : { name: lock.name, mode: lock.mode, token: lock.token };
}

/** A row or an event with its tokens, which are not enumerable. */
const toMessage = (record) => {
  const { token, enclosingToken } = record;
  return { ...record, token, ...(enclosingToken !== undefined && { enclosingToken }) };
};

/**
 * One client, where it lives: carries out the commands of a LockClient on a lock manager and
 * reports the outcomes. A request's callback holds the lock until the command `finish`.
 */
class LockAgent {
  #manager;
  #report;
  #decidesAtOnce;
  #requests = new Map();
  #watches = new Map();
  #settle;

  /**
   * @param {import('../../types').LockManager} manager
   * @param {(event: object) => void} report
   * @param {{ decidesAtOnce?: boolean, settle?: () => Promise<unknown> }} [options]
   *   decidesAtOnce: what is decided for a request is known when request() returns; settle: waits
   *   until what was asked for has taken its place, where that is later than request()
   */
  constructor(manager, report, { decidesAtOnce = true, settle = async () => {} } = {}) {
    this.#decidesAtOnce = decidesAtOnce;
    this.#settle = settle;
    this.#manager = manager;
    this.#report = report;
  }

  async request({ key, name, options, isAbortable, priority, ...reports }) {
    const { reportsLoss, reportsContention, reportsPriority } = reports;
    const controller =
      priority === undefined ? new AbortController() : new holdfast.TaskController({ priority });
    const hasSignal = isAbortable || priority !== undefined;
    const request = { controller, finish: undefined };
    this.#requests.set(key, request);
    this.#manager
      .request(name, hasSignal ? { ...options, signal: controller.signal } : options, (lock) => {
        this.#report({ key, granted: describeLock(lock) });
        if (reportsLoss) this.#reportLoss(key, lock.signal);
        if (reportsContention) this.#reportContention(key, lock.contended);
        if (reportsPriority) this.#reportPriority(key, lock.signal);
        return new Promise((resolve, reject) => {
          request.finish = ({ value, error }) => (error ? reject(error) : resolve(value));
        });
      })
      .then(
        (value) => this.#report({ key, settled: { status: 'fulfilled', value } }),
        (reason) =>
          this.#report({ key, settled: { status: 'rejected', reason: describeReason(reason) } }),
      );
    await this.#settle();
  }

  #reportLoss(key, signal) {
    signal.addEventListener('abort', () =>
      this.#report({ key, lost: describeReason(signal.reason) }),
    );
  }

  #reportContention(key, contended) {
    const report = () => this.#report({ key, contended: describeReason(contended.reason) });
    if (contended.aborted) report();
    else contended.addEventListener('abort', report);
  }

  #reportPriority(key, signal) {
    const report = () => this.#report({ key, priority: signal.priority });
    report();
    signal.addEventListener('prioritychange', report);
  }

  finish({ key, value, error }) {
    // There is nothing to finish where the lock was lost before its callback was called.
    this.#requests.get(key).finish?.({ value, error });
  }

  async abort({ key, reason }) {
    this.#requests.get(key).controller.abort(reason);
    await this.#settle();
  }

  async setPriority({ key, priority }) {
    this.#requests.get(key).controller.setPriority(priority);
    await this.#settle();
  }

  query() {
    return this.#manager.query();
  }

  async inspect() {
    const { held, pending, ...others } = await this.#manager.inspect();
    return { held: held.map(toMessage), pending: pending.map(toMessage), ...others };
  }

  isLocked({ name }) {
    return this.#manager.isLocked(name);
  }

  async watch({ key, name }) {
    this.#watches.set(key, this.#manager.watch(name));
    await this.#settle();
  }

  /** The next so many events of a watch. */
  async readWatch({ key, count }) {
    const events = [];
    while (events.length < count) {
      events.push(toMessage((await this.#watches.get(key).next()).value));
    }
    return events;
  }

  async endWatch({ key }) {
    await this.#watches.get(key).return();
  }

  /**
   * Runs the body of a test here. It is compiled from its source: it sees its argument and the
   * globals only.
   */
  async run({ source, name }) {
    const body = new Function(`'use strict'; return (${source});`)();
    const query = async () => ofName(await this.#manager.query(), name);
    let unwantedCalls = 0;
    const notCalled = () => {
      unwantedCalls += 1;
    };
    const scope = {
      ...holdfast,
      locks: this.#manager,
      decidesAtOnce: this.#decidesAtOnce,
      name,
      query,
      notCalled,
      assert,
      require,
    };
    const result = await body(scope);
    await nextTurn();
    assert.equal(unwantedCalls, 0, 'a callback ran that was not to be called');
    return result;
  }

  close() {
    this.#manager.close();
  }
}

/** The part of a snapshot that a test is about, without the clientIds. */
function ofName({ held, pending }, name) {
  const modes = (infos) => infos.filter((info) => info.name === name).map(({ mode }) => mode);
  return { held: modes(held), pending: modes(pending) };
}

module.exports = { LockAgent, describeReason, ofName };
