'use strict';

// The log of a stress test with kills, and the checker that reads the log. The checker knows
// nothing of the lock table.
//
// `enter` is written after the grant and `leave` before the release, each by one appending write:
// two holds that overlap in the file did overlap. A killed process leaves no `leave`.

/**
 * @param {object} entry
 * @param {string} entry.who  program and thread: the system gives a process id again
 * @param {'enter' | 'leave'} entry.what
 * @param {string} entry.name
 * @param {'exclusive' | 'shared'} entry.mode
 * @param {bigint} entry.token
 * @param {number} entry.request  the how manieth request of this thread
 */
const lineOf = ({ who, what, name, mode, token, request }) =>
  `${who} ${what} ${name} ${mode} ${token} ${request}\n`;

/** Reads lines in their order and collects what must not be. */
class StressChecker {
  violations = [];
  grants = 0;
  #killed;
  #names = new Map();
  #tokens = new Set();

  /** @param {Set<string>} killed  programs */
  constructor(killed) {
    this.#killed = killed;
  }

  read(line) {
    const [who, what, name, mode, token, request] = line.split(' ');
    const entry = { who, mode, token: BigInt(token), request: Number(request) };
    if (!this.#names.has(name)) {
      this.#names.set(name, {
        inside: new Map(),
        newest: 0n,
        newestExclusive: 0n,
        requests: new Map(),
      });
    }
    const state = this.#names.get(name);
    const fault = what === 'enter' ? this.#enter(state, entry) : this.#leave(state, entry);
    if (fault !== undefined) this.violations.push(`${fault}: ${line}`);
  }

  #enter(state, entry) {
    this.grants += 1;
    const { who, mode, token, request } = entry;
    const others = [...state.inside.values()].filter(
      (other) => !this.#killed.has(other.who.split('.')[0]),
    );
    const { newest, newestExclusive } = state;
    const before = state.requests.get(who);
    state.inside.set(String(token), entry);
    if (token > newest) state.newest = token;
    if (mode === 'exclusive') state.newestExclusive = token;
    state.requests.set(who, { request, token });
    if (this.#tokens.has(token)) return 'a token twice';
    this.#tokens.add(token);
    if (others.some((other) => mode === 'exclusive' || other.mode === 'exclusive')) {
      return 'two inside';
    }
    if (token <= (mode === 'exclusive' ? newest : newestExclusive)) return 'a token that fell';
    if (before !== undefined && before.request < request !== before.token < token)
      return 'overtaken';
    return undefined;
  }

  #leave(state, entry) {
    return state.inside.delete(String(entry.token)) ? undefined : 'a leaver was not inside';
  }
}

module.exports = { StressChecker, lineOf };
