'use strict';

const { fork } = require('node:child_process');
const path = require('node:path');
const { setTimeout: pause } = require('node:timers/promises');

const MAX_PAUSE_MS = 800; // between two kills

/**
 * The processes of one machine that use the session. Now and then a process that has made calls is
 * killed, and another one takes its place.
 */
class Crew {
  counts = { kills: 0, logouts: 0, failures: 0 };
  #task;
  #members;
  /** @type {(() => void) | undefined} */
  #begin;

  /**
   * @param {number} processes
   * @param {import('./worker.js').Task & { threads: number }} task
   */
  constructor(processes, task) {
    this.#task = task;
    this.#members = Array.from({ length: processes }, () => this.#start());
  }

  #start() {
    const child = fork(path.join(__dirname, 'worker.js'), [JSON.stringify(this.#task)]);
    const member = { child, isUsing: false };
    child.on('message', (/** @type {any} */ { loggedOut }) => {
      if (loggedOut !== undefined) this.counts.logouts += 1;
      else this.#onUse(member);
    });
    child.on('error', () => {}); // the message to stop came after its end
    const closed = new Promise((resolve) => child.once('close', resolve)).then((code) => {
      if (code !== 0 && child.signalCode !== 'SIGKILL') this.counts.failures += 1;
    });
    return Object.assign(member, { closed });
  }

  /** @param {{ isUsing: boolean }} member */
  #onUse(member) {
    member.isUsing = true;
    this.#begin?.();
    this.#begin = undefined;
  }

  /**
   * @param {{ end: AbortSignal, begin: () => void, isKilling: boolean }} options  when to stop;
   * called when the first process has used the session
   */
  async run({ end, begin, isKilling }) {
    this.#begin = begin;
    while (!end.aborted && this.counts.logouts + this.counts.failures === 0) {
      await pause(Math.random() * MAX_PAUSE_MS);
      if (isKilling) this.#killOne();
    }
    for (const { child } of this.#members) if (child.connected) child.send('stop');
    await Promise.all(this.#members.map(({ closed }) => closed));
    return this.counts;
  }

  #killOne() {
    const indexes = [...this.#members.keys()].filter((it) => this.#members[it].isUsing);
    if (indexes.length === 0) return;
    const index = indexes[Math.floor(Math.random() * indexes.length)];
    if (this.#members[index].child.kill('SIGKILL')) this.counts.kills += 1;
    this.#members[index] = this.#start();
  }
}

module.exports = { Crew };
