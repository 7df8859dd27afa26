'use strict';

// The log of a stress test with kills, and the checker that reads the log. The checker knows
// nothing of the lock table.
//
// `enter` is written after the grant and `leave` before the release, each by one appending write:
// two holds that overlap in the file did overlap. A killed process leaves no `leave`. `wait` is
// written when request() has returned: if a thread has written a line after it, the next request of
// that thread is younger.

/**
 * @param {object} entry
 * @param {string} entry.who  program and thread: the system gives a process id again
 * @param {'wait' | 'enter' | 'leave'} entry.what
 * @param {string} entry.name
 * @param {'exclusive' | 'shared'} entry.mode
 * @param {bigint} entry.token  0: none
 * @param {number} entry.request  the how manieth request of this thread
 * @param {number} [entry.rank]  of its priority
 */
const lineOf = ({ who, what, name, mode, token, request, rank = 1 }) =>
  `${who} ${what} ${name} ${mode} ${token} ${request} ${rank}\n`;

const RANKS = [0, 1, 2];
const MAX_OVERTAKES = 16;
/** More than are granted while one waits. */
const MAX_RECENT = 10_000;

/** Reads lines in their order and collects what must not be. */
class StressChecker {
  violations = [];
  grants = 0;
  /** The largest number of younger requests that were granted before a request. */
  mostOvertakes = 0;
  #killed;
  #isBounded;
  #names = new Map();
  #tokens = new Set();
  #lines = 0;
  /** By thread, the number of its last line: what it requests next is younger. */
  #lastLines = new Map();
  /** Of requests that have returned and are not granted, by thread and number. */
  #waiting = new Map();

  /**
   * @param {Set<string>} killed  programs
   * @param {{ isBounded?: boolean }} [options]  whether a request that has returned is in the queue
   */
  constructor(killed, { isBounded = true } = {}) {
    this.#killed = killed;
    this.#isBounded = isBounded;
  }

  read(line) {
    const [who, what, name, mode, token, request, rank] = line.split(' ');
    const entry = {
      ...{ who, mode, token: BigInt(token), request: Number(request), rank: Number(rank) },
      line: (this.#lines += 1),
    };
    if (!this.#names.has(name)) {
      this.#names.set(name, {
        inside: new Map(),
        newest: 0n,
        newestExclusive: 0n,
        latest: new Map(),
        recent: [],
      });
    }
    const state = this.#names.get(name);
    const fault = this.#read(what, state, entry);
    if (fault !== undefined) this.violations.push(`${fault}: ${line}`);
    this.#lastLines.set(who, entry.line);
  }

  #read(what, state, entry) {
    if (what === 'enter') return this.#enter(state, entry);
    if (what === 'leave') return this.#leave(state, entry);
    const { who, request, line } = entry;
    this.#waiting.set(`${who} ${request}`, { after: this.#lastLines.get(who) ?? 0, line });
    return undefined;
  }

  #enter(state, entry) {
    this.grants += 1;
    const { who, mode, token } = entry;
    const others = [...state.inside.values()].filter(
      (other) => !this.#killed.has(other.who.split('.')[0]),
    );
    const { newest, newestExclusive } = state;
    const isOvertaken = this.#isOvertaken(state, entry);
    state.inside.set(String(token), entry);
    if (token > newest) state.newest = token;
    if (mode === 'exclusive') state.newestExclusive = token;
    state.latest.set(`${who} ${entry.rank}`, entry);
    if (this.#tokens.has(token)) return 'a token twice';
    this.#tokens.add(token);
    if (others.some((other) => mode === 'exclusive' || other.mode === 'exclusive')) {
      return 'two inside';
    }
    if (token <= (mode === 'exclusive' ? newest : newestExclusive)) return 'a token that fell';
    if (isOvertaken) return 'overtaken';
    const overtakes = this.#countOvertakes(state, entry);
    this.mostOvertakes = Math.max(this.mostOvertakes, overtakes);
    if (this.#isBounded && overtakes > MAX_OVERTAKES) return `overtaken ${overtakes} times`;
    return undefined;
  }

  /** Whether one of two requests of a thread went before an older request that is as urgent. */
  #isOvertaken({ latest }, { who, request, token, rank }) {
    return RANKS.some((other) => {
      const before = latest.get(`${who} ${other}`);
      if (before === undefined) return false;
      const isOlder = before.request < request;
      const mayPass = isOlder ? rank > other : other > rank;
      return !mayPass && isOlder !== before.token < token;
    });
  }

  /**
   * How many requests went before this request, and are surely younger and more urgent: their
   * threads wrote a line between the two requests.
   */
  #countOvertakes(state, { who, request, rank, token, line }) {
    const key = `${who} ${request}`;
    const wait = this.#waiting.get(key);
    this.#waiting.delete(key);
    const { recent } = state;
    let overtakes = 0;
    for (let i = recent.length - 1; wait !== undefined && i >= 0; i -= 1) {
      if (recent[i].line < wait.line) break;
      const isYounger = recent[i].after > wait.line;
      if (isYounger && recent[i].rank > rank && recent[i].token < token) overtakes += 1;
    }
    if (wait !== undefined) recent.push({ rank, token, line, after: wait.after });
    if (recent.length > 2 * MAX_RECENT) recent.splice(0, MAX_RECENT);
    return overtakes;
  }

  #leave(state, entry) {
    return state.inside.delete(String(entry.token)) ? undefined : 'a leaver was not inside';
  }
}

module.exports = { StressChecker, lineOf };
