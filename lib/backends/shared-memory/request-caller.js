'use strict';

const { IF_AVAILABLE, SHARED, STEAL } = require('./native-constants.js');

/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */

/**
 * Passes requests to the native part: as numbers, and strings only if the native part does not have
 * them yet.
 */
class RequestCaller {
  /** The name of the last plain request; the native agent remembers it, too. Empty at first. */
  #lastName = '';

  /** To be called before the first call of another native agent. */
  reset() {
    this.#lastName = '';
  }

  /**
   * @param {any} agent  native
   * @param {Request} request
   * @returns {number} id << OUTCOME_BITS | outcome, or -1: see agent.lastError()
   */
  call(agent, request) {
    let flags = 0;
    if (request.mode === 'shared') flags |= SHARED;
    if (request.ifAvailable) flags |= IF_AVAILABLE;
    if (request.steal) flags |= STEAL;
    const { name, extras } = request;
    if (extras === undefined) return this.#callPlain(agent, name, flags);
    return agent.requestWithExtras(
      name,
      flags,
      extras.limit,
      extras.holdLimit,
      extras.label,
      extras.enclosing?.tokenHigh ?? 0,
      extras.enclosing?.tokenLow ?? 0,
      extras.callSite,
    );
  }

  /**
   * Passing a string costs as much as taking a free lock word.
   * @param {any} agent
   * @param {string} name
   * @param {number} flags
   * @returns {number}
   */
  #callPlain(agent, name, flags) {
    if (name === this.#lastName) return agent.requestAgain(flags);
    this.#lastName = name;
    return agent.request(name, flags);
  }
}

module.exports = { RequestCaller };
