'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { existsSync, mkdtempSync, rmSync } = require('node:fs');
const { tmpdir } = require('node:os');
const path = require('node:path');
const { setTimeout: sleep } = require('node:timers/promises');
const { FencedResource } = require('./fenced-resource.js');

const ROOT = path.join(__dirname, '..', '..');
/** The second one is of earlier versions. */
const PROGRAMS = ['stress-program.js', 'etcd-storm-program.js'];
const seed = Number(process.env.HOLDFAST_SEED ?? Date.now() % 1_000_000);

/**
 * @typedef {object} Place  where and how a process of a stress test runs
 * @property {string} url
 * @property {object} [options]  of the backend
 * @property {string[]} [refusals]  the names of errors with which requests may reject
 * @property {string[]} [launch]  words before the command, like those that enter a namespace
 * @property {Record<string, string>} [env]
 * @property {boolean} [isWatching]
 * @property {boolean} [hasPriorities]  of the requests for two of the three names
 * @property {string} [tree]  the folder of another version of the project
 */

/** One process of a stress test. */
class StressProcess {
  /** The status of its session at its rest; undefined as long as it takes locks. */
  status;
  ended;
  #rested;

  /**
   * @param {Place} setup
   * @param {{ socket: string, seed: number, home: string }} about
   */
  constructor(setup, { socket, seed: own, home }) {
    const { url, options, refusals = [], launch = [], env = {} } = setup;
    const { isWatching = false, hasPriorities = true } = setup;
    const folder = path.join(setup.tree ?? ROOT, 'test', 'support');
    const program = PROGRAMS.find((name) => existsSync(path.join(folder, name)));
    const about = JSON.stringify({
      ...{ url, options, refusals, socket, isWatching, hasPriorities },
      seed: own,
    });
    const [execPath, ...execArgv] = [...launch, process.execPath];
    this.setup = setup;
    this.child = fork(path.join(folder, program), [about], {
      execPath,
      execArgv,
      env: { ...process.env, HOLDFAST_DIR: home, ...env },
    });
    this.ended = once(this.child, 'exit').then(([code, signal]) => ({ code, signal }));
    const report = once(this.child, 'message').then(([{ status }]) => {
      this.status = status;
    });
    this.#rested = Promise.race([report, this.ended]);
  }

  /** It takes no more locks; its session lives, unless it is of an earlier version. */
  async rest() {
    this.child.send('stop');
    await this.#rested;
  }

  async close() {
    if (this.child.connected) this.child.send('close', () => {}); // it may be about to end
    return this.ended;
  }

  get pid() {
    return this.child.pid;
  }
}

/**
 * @typedef {object} Cluster  one server or several, which have the locks
 * @property {() => Promise<bigint>} lastToken  at least the greatest token that was given so far
 * @property {() => Promise<void>} endSessions  by force
 * @property {() => Promise<void>} untilRested  no session has or waits for a lock
 * @property {() => Promise<void>} untilEmpty  there is no session
 */

const HALF_AN_HOUR_MS = 1_800_000;

/**
 * Processes that take locks over a cluster while a test does harm to it or to them, and a resource
 * that judges the locks.
 */
class StressTest {
  #directory = mkdtempSync(path.join(tmpdir(), 'holdfast-'));
  #resource = new FencedResource(path.join(this.#directory, 'socket'));
  #started = 0;
  #cluster;
  /** @type {StressProcess[]} */
  running = [];

  /** @param {Cluster} cluster */
  constructor(cluster) {
    this.#cluster = cluster;
    console.log(`seed ${seed}`);
  }

  get seed() {
    return seed;
  }

  get judge() {
    return this.#resource.judge;
  }

  /** Of all processes that were started. @type {number[]} */
  pids = [];

  /** The directory that stands for a machine. @param {string} name */
  homeOf(name) {
    return path.join(this.#directory, name);
  }

  /** @param {Place} setup */
  add(setup) {
    this.#started += 1;
    const { env = {} } = setup;
    const home = env.HOLDFAST_DIR ?? this.homeOf('machine');
    const about = { socket: this.#resource.path, seed: seed + this.#started, home };
    const added = new StressProcess(setup, about);
    this.running.push(added);
    this.pids.push(added.pid);
    return added;
  }

  /** @param {number} round  which one; another takes its setup */
  async killOne(round) {
    const [victim] = this.running.splice(round % this.running.length, 1);
    this.judge.bury(victim.pid);
    victim.child.kill('SIGKILL');
    await victim.ended;
    this.add(victim.setup);
  }

  /** Lets a process end what it does, and starts another one. @param {Place} setup */
  async exchange(setup) {
    const [old] = this.running.splice(0, 1);
    await old.rest();
    expect(await old.close()).toEqual({ code: 0, signal: null });
    return this.add(setup);
  }

  /** Stops a process for so long. @param {StressProcess} victim @param {number} ms */
  async pauseOne(victim, ms) {
    this.judge.excuse(victim.pid);
    victim.child.kill('SIGSTOP');
    await sleep(ms);
    const upTo = await this.#cluster.lastToken(); // what is granted from now on it holds itself
    victim.child.kill('SIGCONT');
    this.judge.excuse(victim.pid, upTo);
  }

  /** Ends all sessions by force, as a cluster does that loses leases. */
  async endSessions() {
    await this.excuseAllIn(() => this.#cluster.endSessions());
  }

  /**
   * Holders of locks that are given until its end cannot be notified in time.
   * @param {() => Promise<void>} harm
   */
  async excuseAllIn(harm) {
    this.judge.excuse('*');
    await harm();
    this.judge.excuse('*', await this.#cluster.lastToken());
  }

  /** Resolves after so many further grants of all processes. @param {number} [grants] */
  async untilProgress(grants = 100) {
    const goal = this.judge.counts.entered + grants;
    while (this.judge.counts.entered < goal) {
      const dead = this.running.find(({ child }) => child.exitCode !== null);
      if (dead !== undefined) throw new Error(`process ${dead.pid} has ended`);
      await sleep(20);
    }
  }

  /** Resolves after so many further grants of each process. */
  async untilAllProgress(grants = 10) {
    const goals = this.running.map(({ pid }) => [pid, this.judge.enteredBy(pid) + grants]);
    while (goals.some(([pid, goal]) => this.judge.enteredBy(pid) < goal)) {
      await this.untilProgress(1);
    }
  }

  /** Resolves when each process has entered with such a wall clock. @param {number} offset  ms */
  async untilClocksAre(offset) {
    const isSet = ({ pid }) =>
      Math.abs((this.judge.wallClocks.get(pid) ?? NaN) - Date.now() - offset) < HALF_AN_HOUR_MS;
    while (!this.running.every(isSet)) await this.untilProgress(1);
  }

  /** Lets all end what they do, and checks what has happened. */
  async finish() {
    await Promise.all(this.running.map((it) => it.rest()));
    await this.#cluster.untilRested(); // the sessions live: what they leave, they leave for good
    const ends = await Promise.all(this.running.map((it) => it.close()));
    expect(ends).toEqual(ends.map(() => ({ code: 0, signal: null })));
    await this.#resource.stop();
    const { faults, counts, open } = this.judge;
    console.log(expect.getState().currentTestName, JSON.stringify(counts));
    expect(faults).toEqual([]);
    expect(open).toBe(0); // nothing hangs: each hold has ended, and its end was reported
    await this.#cluster.untilEmpty(); // at the latest, leases end
    return this.running.map(({ status }) => status);
  }

  async stop() {
    for (const { child } of this.running) child.kill('SIGKILL');
    await Promise.all(this.running.map(({ ended }) => ended));
    await this.#resource.stop();
    rmSync(this.#directory, { recursive: true });
  }
}

module.exports = { StressTest };
