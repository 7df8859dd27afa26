'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { Ledger, countViolations, machineNs } = require('./ledger.js');

const PROCESSES = 4;
const THREADS = 2;
/** The machines on which the processes run, in turn: with etcd, a network namespace each. */
const MACHINES = (process.env.HOLDFAST_DEMO_MACHINES ?? '').split(' ').filter(Boolean);
/** The users of the processes, in turn, by number; all are members of one group. */
const USERS = (process.env.HOLDFAST_DEMO_USERS ?? '').split(' ').filter(Boolean);
const GROUP = process.env.HOLDFAST_DEMO_GROUP ?? '';

/** Ignores the failure to send a message: the receiver may have ended just now. */
const ignore = () => {};

/**
 * @typedef {object} Result
 * @property {number} expected  increments that the writers say they made; of the killed one, those
 * that are in the ledger.
 * @property {number} found  The count of the ledger.
 * @property {number} violations  Lines that do not follow from the line before.
 * @property {number} auditViolations  the same, as the auditor saw it
 * @property {number} audits
 * @property {number} grantsPerSecond
 * @property {number | null} killToGrantMs  from the kill of the holder to the next grant
 * @property {boolean} unreportedLost  a writer has reported more than the ledger has of it
 * @property {boolean} ok
 */

/** The writers, the auditor, and what they have said so far. */
class Run {
  /** @type {Map<string, number>} what each writer says it has appended */
  #written = new Map();
  #number = 0;
  #audits = { audits: 0, violations: 0 };
  #event = '';
  /** @type {bigint | undefined} */
  #killedAt = undefined;
  /** @type {import('node:child_process').ChildProcess[]} the first one is to be killed */
  #writers = [];
  #threadsReady = 0;
  #startedAt = machineNs();
  #task;
  #view;

  /**
   * @param {import('./writer.js').Task} task
   * @param {import('./view.js').View} view
   */
  constructor(task, view) {
    this.#task = task;
    this.#view = view;
  }

  /** @returns {Promise<Result>} */
  async finish() {
    this.#writers = Array.from({ length: PROCESSES }, (_, i) =>
      this.#start('writer.js', { ...this.#task, threads: THREADS, isVictim: i === 0 }, i),
    );
    const writersEnd = Promise.all(this.#writers.map((writer) => once(writer, 'exit')));
    const auditor = this.#start('auditor.js', this.#task);
    const auditorEnds = once(auditor, 'exit');
    for (const writer of this.#writers) {
      writer.on('message', (message) => this.#onMessage(message));
      writer.on('exit', (code, signal) => this.#onExit(code, signal));
    }
    auditor.on('message', (message) => {
      this.#audits = /** @type {any} */ (message);
    });
    await writersEnd;
    const seconds = Number(machineNs() - this.#startedAt) / 1e9;
    auditor.send('stop', ignore);
    await auditorEnds;
    this.#view.end();
    return this.#judge(seconds);
  }

  /**
   * @param {string} program
   * @param {object} task
   * @param {number} [number]  of the process
   */
  #start(program, task, number = 0) {
    return fork(
      path.join(__dirname, program),
      [JSON.stringify(task)],
      this.#forkOptionsOf(MACHINES[number % MACHINES.length], USERS[number % USERS.length]),
    );
  }

  /**
   * @param {string | undefined} machine  a network namespace; its lock table is its own
   * @param {string | undefined} user
   */
  #forkOptionsOf(machine, user) {
    if (user !== undefined) {
      const ids = [`--reuid=${user}`, `--regid=${user}`, `--groups=${GROUP}`];
      return { execPath: 'setpriv', execArgv: [...ids, process.execPath] };
    }
    if (machine === undefined) return {};
    return {
      execPath: 'ip',
      execArgv: ['netns', 'exec', machine, process.execPath],
      env: { ...process.env, HOLDFAST_DIR: path.join(this.#task.directory, machine) },
    };
  }

  /** @param {any} message  of a writer */
  #onMessage({ ready, holding, writer, written, number }) {
    if (ready) this.#oneMoreIsReady();
    if (holding) this.#kill(this.#writers[0]);
    if (written !== undefined) this.#written.set(writer, written);
    this.#number = Math.max(this.#number, number ?? 0);
    this.#view.update(this.#number, { audits: this.#audits.audits, event: this.#event });
  }

  /**
   * Ends all writers if one fails: otherwise the other ones might wait for ever.
   * @param {number | null} code
   * @param {NodeJS.Signals | null} signal
   */
  #onExit(code, signal) {
    const isAsPlanned = code === 0 || (signal === 'SIGKILL' && this.#killedAt !== undefined);
    if (!isAsPlanned) for (const writer of this.#writers) writer.kill('SIGKILL');
  }

  /** All start together: the victim has its turn in the queue before the ledger is full. */
  #oneMoreIsReady() {
    this.#threadsReady += 1;
    if (this.#threadsReady < PROCESSES * THREADS) return;
    this.#startedAt = machineNs();
    for (const writer of this.#writers) writer.send('start');
  }

  /** @param {import('node:child_process').ChildProcess} writer  that says it holds the lock */
  #kill(writer) {
    this.#killedAt = machineNs();
    writer.kill('SIGKILL');
    this.#event = `process ${writer.pid} killed with SIGKILL while it held the lock`;
    for (const other of this.#writers.slice(1)) other.send('killed', ignore);
  }

  /**
   * @param {number} seconds
   * @returns {Result}
   */
  #judge(seconds) {
    const entries = new Ledger(this.#task.file).read();
    const killedAt = this.#killedAt;
    const next = killedAt && entries.find((entry) => entry && entry.at > killedAt);
    const victim = `${this.#writers[0].pid}/`;
    // The victim may have died between an entry and its report: what it wrote counts, and must be
    // no less than what it had reported.
    let expected = entries.filter((entry) => entry?.writer.startsWith(victim)).length;
    let unreportedLost = false;
    for (const [writer, written] of this.#written) {
      if (!writer.startsWith(victim)) expected += written;
      const inLedger = entries.filter((entry) => entry?.writer === writer).length;
      if (inLedger < written) unreportedLost = true;
    }
    const found = entries.at(-1)?.number ?? 0;
    const violations = countViolations(entries);
    const killToGrantMs = killedAt && next ? Number(next.at - killedAt) / 1e6 : null;
    const isComplete = found === this.#task.increments && expected === found;
    const isClean = violations === 0 && this.#audits.violations === 0 && !unreportedLost;
    return {
      expected,
      found,
      violations,
      auditViolations: this.#audits.violations,
      audits: this.#audits.audits,
      grantsPerSecond: Math.round(entries.length / seconds),
      killToGrantMs,
      unreportedLost,
      ok: isComplete && isClean && killToGrantMs !== null,
    };
  }
}

module.exports = { GROUP, PROCESSES, THREADS, Run };
