'use strict';

const { appendFileSync, createReadStream } = require('node:fs');
const { join } = require('node:path');
const { createInterface } = require('node:readline');
const { setImmediate: nextTurn } = require('node:timers/promises');
const { randomFrom } = require('./process-random.js');

const LOG = 'log';

/** Uses exclusive locks without a pause and logs each entry and exit in a file of all processes. */
class ActorWork {
  steps = 0;
  #locks;
  #log;
  #random;
  #names;
  #who;
  #isStopped = false;
  #ended;

  constructor(locks, directory) {
    this.#locks = locks;
    this.#log = join(directory, LOG);
  }

  /** @param {{ seed: number, names: string[], who?: string | number }} options */
  start({ seed, names, who = process.pid }) {
    this.#who = who;
    this.#random = randomFrom(seed);
    this.#names = names;
    this.#ended = this.#run();
  }

  stop() {
    this.#isStopped = true;
    return this.#ended;
  }

  async #run() {
    const ways = [
      (name) => this.#locks.request(name, (lock) => this.#use(lock)),
      (name) => this.#locks.request(name, { ifAvailable: true }, (lock) => this.#use(lock)),
      (name) => this.#abort(name),
    ];
    for (; !this.#isStopped; this.steps += 1) {
      const names = this.#names.filter(() => this.#random(2) === 0);
      await Promise.all(names.map((name) => ways[this.#random(ways.length)](name)));
      await nextTurn(); // also when nothing was drawn
    }
  }

  async #use(lock) {
    if (lock === null) return;
    this.#write('enter', lock);
    if (this.#random(2) === 0) await nextTurn();
    this.#write('leave', lock);
  }

  async #abort(name) {
    const controller = new AbortController();
    const request = this.#locks.request(name, { signal: controller.signal }, (lock) =>
      this.#use(lock),
    );
    if (this.#random(2) === 0) await nextTurn();
    controller.abort('aborted');
    await request.catch((reason) => {
      if (reason !== 'aborted') throw reason;
    });
  }

  #write(what, { name, token }) {
    appendFileSync(this.#log, `${this.#who} ${what} ${name} ${token}\n`);
  }
}

/** The log of a long run has more bytes than a string may have. @param {string} directory */
const linesOfLog = (directory) =>
  createInterface({ input: createReadStream(join(directory, LOG)), crlfDelay: Infinity });

/**
 * The faults in the log: entries while another was inside that lived on, and tokens that do not
 * rise.
 * @param {Iterable<string> | AsyncIterable<string>} lines
 * @param {Set<string>} killed
 */
async function findViolations(lines, killed) {
  const violations = [];
  const inside = new Map();
  const tokens = new Map();
  for await (const line of lines) {
    const [who, what, name, token] = line.split(' ');
    const before = inside.get(name);
    const isOwn = before?.who === who && before.token === token;
    if (what === 'leave') {
      if (!isOwn) violations.push(line);
      inside.delete(name);
      continue;
    }
    if (before !== undefined && !killed.has(before.who)) violations.push(line);
    if (BigInt(token) <= (tokens.get(name) ?? 0n)) violations.push(line);
    inside.set(name, { who, token });
    tokens.set(name, BigInt(token));
  }
  if (tokens.size === 0) violations.push('no holder was inside');
  return violations;
}

module.exports = { ActorWork, findViolations, linesOfLog };
