'use strict';

// PostgreSQL in the thread of a session.

const { LockSession } = require('../remote/lock-session.js');
const { describe, isFinal } = require('./postgres-errors.js');
const { PostgresSession } = require('./session.js');

/**
 * @param {import('./postgres-options.js').PostgresOptions} given
 * @param {import('../remote/session-info.js').SessionInfo} agent
 * @param {import('../remote/session-thread.js').Thread} thread
 */
function openSession(given, agent, { post, state, requestAnswer }) {
  const { configs, hasPasswordFunction } = given;
  const options = hasPasswordFunction
    ? { ...given, configs: configs.map((it) => ({ ...it, password: requestAnswer })) }
    : given;
  /** @type {import('../remote/lock-session.js').SessionEngine} */
  const engine = {
    ttlMs: options.ttlMs,
    create: (host) => new PostgresSession(options, agent, host),
    describe,
    isFinal,
  };
  return new LockSession(engine, post, state);
}

module.exports = { describe, openSession };
