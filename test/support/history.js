'use strict';

const { setImmediate: nextTurn } = require('node:timers/promises');
const { modeOf } = require('./played-call.js');
const { CALLS } = require('./played-request.js');

/**
 * A history is an array of bursts, a burst an array of steps that are made in one go; one by one
 * where some of them are delicate. After each everything that it set off is waited for. Steps:
 *   { kind: 'request', manager, name, mode, way, limit, timeout, holdLimit, label, priority,
 *     maxPending }
 *     way: 'wait', 'ifAvailable', 'steal', 'signal'; limit counts where the mode is 'shared', 0 for
 *     none; priority: also of the signal; maxPending, where it may wait: undefined for none; the
 *     rest says whether there is one
 *   { kind: 'acquire' } and { kind: 'sync' } with the same; { kind: 'all' } with `names`
 *   { kind: 'nested', call, reentrant } with the same: a request inside the callback of another
 *   { kind: 'finish', call, isFailure }  ends the callback, also a callback that is still to come;
 *     not the callback of a call with a hold limit
 *   { kind: 'abort', call }, { kind: 'pass', call }: its timeout passes
 *   { kind: 'priority', call, priority }: of its signal
 * `manager`, `name` and `call` are indexes; the index of a call counts the calls made before,
 * modulo their number.
 */

/** A watchdog: without it the awaited event would not be named. Most need less than ten. */
const MOST_TURNS = 200_000;

/** In shared memory a change of priority may come later, if another thread is inside the shard. */
const DELICATE = ['acquire', 'all', 'nested', 'priority'];

/** Plays histories on lock managers that share a bucket and writes down what can be observed. */
class HistoryPlayer {
  #managers;
  #clientIds;
  #prefix;
  #timers;
  #calls = [];
  #events = [];
  #observer;

  /**
   * @param {import('../../types').LockManager[]} managers
   * @param {string[]} clientIds  of the managers
   * @param {string} prefix  of all names, new for each history
   * @param {{ delayOf(id: number): number, fire(id: number): boolean }} timers
   */
  constructor(managers, clientIds, prefix, timers) {
    this.#managers = managers;
    this.#clientIds = clientIds;
    this.#prefix = prefix;
    this.#timers = timers;
    this.#observer = managers[0];
  }

  /** Gives, for each step that was waited for, the events and the snapshot that followed. */
  async play(history) {
    const record = [];
    try {
      for (const [index, burst] of history.entries()) {
        this.#observer = this.#managers[index % this.#managers.length];
        for (const steps of this.#inTime(burst)) record.push(await this.#makeAll(steps));
      }
    } finally {
      for (const call of this.#calls) call.abort();
      for (const call of this.#calls) call.finish(false);
      await this.#settled();
    }
    return record;
  }

  async #makeAll(steps) {
    for (const step of steps) this.#make(step);
    const snapshot = await this.#settled();
    const faults = this.#calls.map((call) => call.fault()).filter(Boolean);
    if (faults.length > 0) throw new Error(faults.join(', '));
    return { events: this.#events.splice(0).sort(), snapshot };
  }

  /**
   * Splits a burst so that decisions of a clock do not depend on how fast the other steps are, nor
   * the outcome of a call that learns of others at its own pace: between the locks of requestAll(),
   * when the enclosing lock of a request is lost, or before acquire() has given its handle.
   */
  #inTime(burst) {
    const isDelicate = ({ kind, holdLimit }) => holdLimit || DELICATE.includes(kind);
    const isAnyDelicate =
      burst.some(isDelicate) ||
      this.#calls.some((call) => !call.isAtItsEnd && isDelicate(call.step));
    return isAnyDelicate ? burst.map((step) => [step]) : [burst];
  }

  #make(step) {
    const Call = CALLS[step.kind];
    if (Call !== undefined) return this.#call(Call, step);
    const call = this.#calls[step.call % this.#calls.length];
    // Whether its callback ends in time would be for the clock to say.
    if (step.kind === 'finish' && call?.step.holdLimit) return;
    if (step.kind === 'finish') call?.finish(step.isFailure);
    else if (step.kind === 'abort') call?.abort();
    else if (step.kind === 'priority') call?.setPriority(step.priority);
    else if (call !== undefined && this.#timers.fire(call.id)) call.timeOut();
  }

  #call(Call, step) {
    const outer = step.kind === 'nested' ? this.#outerOf(step) : undefined;
    if (step.kind === 'nested' && outer === undefined) return;
    const manager = outer?.step.manager ?? step.manager;
    const call = new Call(
      this.#calls.length,
      { ...step, manager },
      {
        log: (event) => this.#events.push(event),
        delayOf: this.#timers.delayOf,
      },
    );
    this.#calls.push(call);
    const start = () =>
      call.start(this.#managers[manager], (name) => `${this.#prefix} ${name}`, outer);
    if (outer === undefined) start();
    else outer.runInside(start);
  }

  /** The call that a nested request is to be inside, where its callback runs. */
  #outerOf(step) {
    const outer = this.#calls[step.call % this.#calls.length];
    const isInside = outer?.isCalled && !outer.isFinished && outer.runInside !== undefined;
    return isInside && !outer.step.holdLimit ? outer : undefined;
  }

  /** Waits until inspect() shows exactly what the calls know of themselves; gives it. */
  async #settled() {
    for (let turns = 0; ; turns += 1) {
      await nextTurn();
      const shown = await this.#snapshot();
      const expected = this.#calls.map((call) => call.expected(shown));
      const isSame = ['held', 'pending'].every(
        (state) => countsOf(shown[state]) === countsOf(expected.flatMap((lines) => lines[state])),
      );
      if (isSame && this.#calls.every(isAtRest)) return shown;
      if (turns === MOST_TURNS) throw new Error(this.#difference(shown, expected));
    }
  }

  #difference(shown, expected) {
    const steps = this.#calls.map(({ step }) => step);
    const calls = this.#calls.filter((call) => !isAtRest(call)).map(({ id }) => id);
    const facts = JSON.stringify({ steps, shown, expected, calls });
    return `inspect(), or calls, are never as expected: ${facts}`;
  }

  /** The snapshot of this history's names: sorted by name, in the given order for each. */
  async #snapshot() {
    const { held, pending } = await this.#observer.inspect();
    const ofIt = (details) => this.#ofHistory(details);
    return {
      held: ofIt(held).map((detail) => this.#lineOf(detail)),
      pending: ofIt(pending).map((detail) => `${this.#lineOf(detail)} ${detail.priority}`),
      overtakes: ofIt(pending).map(({ overtakes }) => overtakes),
    };
  }

  #ofHistory(details) {
    return details
      .filter(({ name }) => name.startsWith(`${this.#prefix} `))
      .sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
  }

  #lineOf({ name, clientId, label, ...detail }) {
    const manager = this.#clientIds.indexOf(clientId);
    return `${name.slice(this.#prefix.length + 1)} ${modeOf(detail)} ${manager} ${label}`;
  }
}

const isAtRest = (call) => call.isAsExpected() && !call.isGivingUp;

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
