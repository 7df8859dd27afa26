'use strict';

const { SessionLost } = require('./session-calls.js');

/** @typedef {import('./session.js').Session} Session */

/** Actions that need a session: they wait for the next one where there is none, or it is lost. */
class SessionTurn {
  #current;
  /** @type {{ resolve: (session: Session) => void, reject: (error: unknown) => void }[]} */
  #waiting = [];

  /** @param {() => Session | undefined} current */
  constructor(current) {
    this.#current = current;
  }

  /**
   * @template T
   * @param {(session: Session) => Promise<T>} action
   * @returns {Promise<T>}
   */
  async run(action) {
    for (;;) {
      const session = this.#current() ?? (await this.#next());
      try {
        return await action(session);
      } catch (error) {
        if (!(error instanceof SessionLost)) throw error;
      }
    }
  }

  /** @param {Session} session  has begun */
  begin(session) {
    for (const { resolve } of this.#waiting.splice(0)) resolve(session);
  }

  /** @param {unknown} error  of an attempt to begin one */
  fail(error) {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  /** @returns {Promise<Session>} */
  #next() {
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }
}

module.exports = { SessionTurn };
