'use strict';

const { IF_AVAILABLE, SHARED, STEAL } = require('./native-constants.js');

/** @typedef {import('../../../types/backend.d.ts').LockBackendRequest} Request */

/** How a request crosses to the native part: in numbers, with the strings that it does not know. */
class RequestCaller {
  /** Of the last plain request: the native agent remembers it, too. At first it is empty. */
  #lastName = '';

  /** The next call is the first of another native agent. */
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
   * A string that crosses costs as much as an uncontended lock word.
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
