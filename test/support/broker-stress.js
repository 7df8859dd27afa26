'use strict';

const { fork } = require('node:child_process');
const { once } = require('node:events');
const { createReadStream } = require('node:fs');
const { join } = require('node:path');
const { createInterface } = require('node:readline');
const { setTimeout: pause } = require('node:timers/promises');
const { BrokerFiles } = require('../../lib/backends/broker/broker-files.js');
const { StressChecker } = require('../shared-memory/kill-stress-log.js');
const { killBroker, removeLocks, sendSignal, signalBroker } = require('./broker-process.js');
const { randomFrom } = require('./process-random.js');

const NAMES = ['a', 'b', 'c'];
const PROGRAM = join(__dirname, '../shared-memory/kill-stress-program.js');
const LATEST_MS = 15;
const LATEST_AFTER_BROKER_MS = 400;

/**
 * Processes of three threads each and their broker, killed, stopped and resumed at random moments:
 * brokers also twice in a row, while they recover, and while clients are stopped. On systems
 * without stop signals, the processes are killed alone.
 */
class BrokerStress {
  /** How many brokers were killed. */
  brokersKilled = 0;
  /** @type {Set<string>} the numbers of the killed programs */
  killed = new Set();
  #directory;
  #files;
  #commands;
  #processes;
  #random;
  /** The numbers of the programs. */
  #numbers = new Map();
  #running = new Set();

  /**
   * @param {string} directory
   * @param {object} options
   * @param {string[][]} options.commands  of the programs, in turn: a command and its arguments
   * @param {number} options.processes  that are killed; one more is not
   * @param {number} options.seed
   */
  constructor(directory, { commands, processes, seed }) {
    this.#directory = directory;
    this.#files = new BrokerFiles('stress', directory);
    this.#commands = commands;
    this.#processes = processes;
    this.#random = randomFrom(seed);
  }

  /**
   * @param {object} options
   * @param {number} options.kills  at least
   * @param {number} [options.grants]  at least
   * @param {(table: { directory: string, bucket: string, victim: number }) => () => unknown}
   *   [options.accompany]  begins something beside the kills, whose end it returns
   */
  async run({ kills, grants: leastGrants = 0, accompany = () => () => {} }) {
    const witness = await this.#start();
    const bucket = this.#files.bucket;
    const endCompany = accompany({ directory: this.#directory, bucket, victim: witness.pid });
    const children = await Promise.all(
      Array.from({ length: this.#processes }, () => this.#start()),
    );
    for (let strikes = 0; this.killed.size + this.brokersKilled < kills; strikes += 1) {
      await this.#strike(children);
      if (strikes % 8 === 7) await pause(this.#random(500)); // a time in which they get on
    }
    for (let grants = 0; grants < leastGrants; { grants } = await this.#check()) await pause(5000);
    await endCompany();
    await Promise.all(children.map(stop));
    await stop(witness);
    return this.#check();
  }

  /** Ends all processes, and removes the directory. */
  remove() {
    for (const child of this.#running) child.kill('SIGKILL');
    removeLocks(this.#files);
  }

  async #start() {
    const number = this.#numbers.size;
    const seed = this.#random(2 ** 30);
    const directory = this.#directory;
    const options = { directory, number, names: NAMES, seed, backend: 'broker' };
    const [execPath, ...execArgv] = this.#commands[number % this.#commands.length];
    const child = fork(PROGRAM, [JSON.stringify(options)], { execPath, execArgv });
    this.#numbers.set(child, number);
    this.#running.add(child);
    const ended = once(child, 'exit').then(() => this.#running.delete(child));
    await Promise.race([once(child, 'message'), ended]);
    expect(this.#running).toContain(child);
    return child;
  }

  #killOneBroker() {
    this.brokersKilled += 1;
    killBroker(this.#files);
  }

  async #killClient(children) {
    const index = this.#random(this.#processes);
    const victim = children[index];
    this.killed.add(String(this.#numbers.get(victim)));
    victim.kill('SIGKILL');
    await once(victim, 'exit');
    children[index] = await this.#start();
  }

  /** One draw: the stopped and killed processes, and the moment. */
  async #strike(children) {
    const random = this.#random;
    const { platform } = this.#files;
    const stopped = random(3) === 0 ? children[random(this.#processes)] : undefined;
    const isBrokerStopped = random(6) === 0;
    if (stopped !== undefined) sendSignal(stopped, 'SIGSTOP', platform);
    if (isBrokerStopped) signalBroker(this.#files, 'SIGSTOP');
    await pause(random(LATEST_MS)); // the moment is what is drawn
    if (isBrokerStopped && random(2) === 0) signalBroker(this.#files, 'SIGCONT');
    const kinds = random(4);
    if (kinds > 0) this.#killOneBroker();
    if (kinds === 3) {
      await pause(random(LATEST_AFTER_BROKER_MS)); // in its start, in its recovery, or after it
      this.#killOneBroker();
    }
    if (kinds < 2) await this.#killClient(children);
    signalBroker(this.#files, 'SIGCONT');
    if (stopped !== undefined) sendSignal(stopped, 'SIGCONT', platform);
  }

  async #check() {
    // While there is no broker, a request has not entered the queue when it has returned.
    const checker = new StressChecker(this.killed, { isBounded: false });
    const lines = createInterface({
      input: createReadStream(join(this.#directory, 'log'), { flags: 'a+' }),
    });
    for await (const line of lines) checker.read(line);
    return checker;
  }
}

/** Resolves when the process has ended, which it does once all its requests are settled. */
async function stop(child) {
  const ended = once(child, 'exit');
  child.send('stop');
  expect(await ended).toEqual([0, null]);
}

module.exports = { BrokerStress };
