'use strict';

// PostgreSQL in the thread of a session.

const { LockSession } = require('../remote/lock-session.js');
const { describe, isFinal } = require('./postgres-errors.js');
const { PostgresSession } = require('./session.js');

/**
 * @param {import('./postgres-options.js').PostgresOptions} options
 * @param {import('../etcd/bucket-view.js').SessionInfo} agent
 * @param {(message: any) => void} post
 * @param {import('../remote/shared-state.js').SharedState} state
 * @param {() => Promise<any>} ask  the agent for the password
 */
function openSession({ asksPassword, ...given }, agent, post, state, ask) {
  const configs = asksPassword
    ? given.configs.map((it) => ({ ...it, password: ask }))
    : given.configs;
  const options = { ...given, asksPassword, configs };
  /** @type {import('../remote/lock-session.js').SessionEngine} */
  const engine = {
    create: (host) => new PostgresSession(options, agent, host),
    describe,
    isFinal,
  };
  return new LockSession(engine, post, state);
}

module.exports = { describe, openSession };
